// The framework's names that Stepwell has too. This file imports no other module, so each name here is the framework's.
#if canImport(FoundationModels)
    import FoundationModels
#else
    import FoundationModelsStandIn
#endif

@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
typealias FrameworkTranscript = Transcript

@available(iOS 27.0, macOS 27.0, visionOS 27.0, *)
typealias FrameworkTool = Tool
