import Foundation
import StepwellBindings

#if canImport(UIKit)
    import UIKit
#elseif canImport(AppKit)
    import AppKit
#endif

/// A source of a picture, sound, a video or a document: a `String`, which is a path or an address (`https://…`,
/// `data:…`), a `URL`, `Data`; on Apple's systems also a `UIImage` or an `NSImage`.
public protocol MediaSourceConvertible {
    /// The location of the media.
    func mediaSource() throws -> MediaSource
}

extension String: MediaSourceConvertible {
    public func mediaSource() -> MediaSource { .text(.init(text: self)) }
}

extension URL: MediaSourceConvertible {
    public func mediaSource() -> MediaSource {
        isFileURL ? .path(.init(path: path)) : .text(.init(text: absoluteString))
    }
}

extension Data: MediaSourceConvertible {
    public func mediaSource() -> MediaSource { .bytes(.init(bytes: self)) }
}

#if canImport(UIKit)
    extension UIImage: MediaSourceConvertible {
        /// As PNG.
        public func mediaSource() throws -> MediaSource { .bytes(.init(bytes: try png(pngData()))) }
    }
#elseif canImport(AppKit)
    extension NSImage: MediaSourceConvertible {
        /// As PNG.
        public func mediaSource() throws -> MediaSource {
            let bitmap = tiffRepresentation.flatMap(NSBitmapImageRep.init(data:))
            return .bytes(
                .init(bytes: try png(bitmap?.representation(using: .png, properties: [:]))))
        }
    }
#endif

#if canImport(UIKit) || canImport(AppKit)
    private func png(_ data: Data?) throws -> Data {
        guard let data else {
            throw StepwellError.misuse("the picture cannot be written as PNG", advice: "give one that has pixels")
        }
        return data
    }
#endif

/// A picture, for a prompt or as a tool's result.
///
/// A file is read at once; the provider fetches what is at an address. The media type is `mediaType`, or is detected
/// from the first bytes, and failing that from the name. `name` names bytes.
///
/// - Throws: `StepwellError` for a source that is missing, empty, of no known type or no picture, and for an address that
/// cannot be fetched.
public func image(
    _ source: some MediaSourceConvertible, mediaType: String? = nil, name: String? = nil
) throws -> ContentPart {
    try mediaPart(kind: .image, source: source.mediaSource(), mediaType: mediaType, name: name)
}

/// Sound; see `image`.
public func audio(
    _ source: some MediaSourceConvertible, mediaType: String? = nil, name: String? = nil
) throws -> ContentPart {
    try mediaPart(kind: .audio, source: source.mediaSource(), mediaType: mediaType, name: name)
}

/// A video; see `image`.
public func video(
    _ source: some MediaSourceConvertible, mediaType: String? = nil, name: String? = nil
) throws -> ContentPart {
    try mediaPart(kind: .video, source: source.mediaSource(), mediaType: mediaType, name: name)
}

/// A document: a PDF file, a text, or any other type that the provider reads; see `image`.
public func document(
    _ source: some MediaSourceConvertible, mediaType: String? = nil, name: String? = nil
) throws -> ContentPart {
    try mediaPart(kind: .document, source: source.mediaSource(), mediaType: mediaType, name: name)
}

/// A string between others is a text part.
extension ContentPart: ExpressibleByStringLiteral {
    public init(stringLiteral value: String) {
        self = text(content: value)
    }
}

/// The possible results of a tool's closure: text, JSON as text, a part, several, or a `ToolOutput`.
public protocol ToolOutputConvertible: Sendable {
    /// The result for the model.
    func toolOutput() -> ToolOutput
}

extension String: ToolOutputConvertible {
    public func toolOutput() -> ToolOutput { ToolOutput(text: self) }
}

extension ContentPart: ToolOutputConvertible {
    public func toolOutput() -> ToolOutput { ToolOutput(text: "", parts: [self]) }
}

extension Array: ToolOutputConvertible where Element == ContentPart {
    public func toolOutput() -> ToolOutput { ToolOutput(text: "", parts: self) }
}

extension ToolOutput: ToolOutputConvertible {
    public func toolOutput() -> ToolOutput { self }
}
