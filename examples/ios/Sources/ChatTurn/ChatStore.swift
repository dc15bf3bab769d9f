import Foundation

/// A file that holds the chat, and the run under way.
public struct ChatStore: Sendable {
    struct Stored: Codable {
        /// The conversation, as JSON.
        var messages: String
        var lines: [Line]
        /// Of the run under way. It holds no key.
        var snapshot: String?
    }

    private let file: URL

    public init(file: URL) {
        self.file = file
    }

    func load() -> Stored? {
        guard let data = try? Data(contentsOf: file) else { return nil }
        return try? JSONDecoder().decode(Stored.self, from: data)
    }

    func save(_ stored: Stored) {
        guard let data = try? JSONEncoder().encode(stored) else { return }
        #if os(iOS)
            // The app may be woken while the phone is locked.
            try? data.write(to: file, options: [.atomic, .completeFileProtectionUntilFirstUserAuthentication])
        #else
            try? data.write(to: file, options: .atomic)
        #endif
    }
}
