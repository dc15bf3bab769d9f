import Testing

@testable import Stepwell

@Test("the linked library is the one the bindings were generated from")
func libraryMatchesBindings() {
    uniffiEnsureStepwellFfiInitialized()
}
