// New apps are isolated to the main actor by default, and so are the conformances of their types. What the library decodes
// and encodes, it does on any thread: the compiler must refuse a conformance that is isolated to an actor (SE-0470).

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
