import Foundation
import Testing

@testable import Stepwell
@testable import StepwellBindings

@Test("the linked library is the one the bindings were generated from")
func libraryMatchesBindings() {
    uniffiEnsureStepwellFfiInitialized()
}

@Test("the privacy manifest is a property list that says why file times are read")
func privacyManifest() throws {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../..")
    let file = package.appendingPathComponent("Sources/Stepwell/PrivacyInfo.xcprivacy").standardizedFileURL
    let read = try PropertyListSerialization.propertyList(from: Data(contentsOf: file), format: nil)
    let manifest = try #require(read as? [String: Any])
    #expect(manifest["NSPrivacyTracking"] as? Bool == false)
    let accessed = try #require(manifest["NSPrivacyAccessedAPITypes"] as? [[String: Any]])
    #expect(accessed.count == 1)
    #expect(accessed.first?["NSPrivacyAccessedAPIType"] as? String == "NSPrivacyAccessedAPICategoryFileTimestamp")
    #expect(accessed.first?["NSPrivacyAccessedAPITypeReasons"] as? [String] == ["C617.1"])
}
