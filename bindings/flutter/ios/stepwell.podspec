# The framework is built by tool/apple.sh, on a Mac.
Pod::Spec.new do |s|
  s.name = 'stepwell'
  s.version = '0.1.0'
  s.summary = 'The loop between a user, a language model and tools.'
  s.homepage = 'https://github.com/stepwell/stepwell'
  s.license = { :type => 'MIT OR Apache-2.0' }
  s.author = 'The Stepwell authors'
  s.source = { :path => '.' }
  s.dependency 'Flutter'
  s.ios.deployment_target = '13.0'
  s.vendored_frameworks = 'StepwellC.xcframework'
end
