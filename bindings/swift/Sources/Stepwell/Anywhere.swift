// New apps are isolated to the main actor by default, and so are the conformances of their types. The library decodes
// and encodes on any thread: the compiler must refuse a conformance that is isolated to an actor (SE-0470).
import StepwellBindings

#if compiler(>=6.2)
    /// A `Decodable` type that may be decoded on any thread.
    public typealias DecodableAnywhere = Decodable & SendableMetatype
    /// An `Encodable` type that may be encoded on any thread.
    public typealias EncodableAnywhere = Encodable & SendableMetatype
#else
    /// A `Decodable` type that may be decoded on any thread.
    public typealias DecodableAnywhere = Decodable
    /// An `Encodable` type that may be encoded on any thread.
    public typealias EncodableAnywhere = Encodable
#endif
