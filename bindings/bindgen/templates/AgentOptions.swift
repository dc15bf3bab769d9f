// Generated from bindings/src.

extension Agent {
    /// Creates an agent with its tools and the other options.
    ///
    ///     let agent = try Agent(provider: "openai", model: "gpt-4o-mini", key: key, tools: [secretNumber])
    ///     for try await event in agent.send("What is Alice's secret number?") { … }
    ///
    /// - Parameters:
{%- for field in self.all() %}
    ///   {{ self::parameter_doc(field) }}
{%- endfor %}
    public convenience init(
{%- for field in self.all() %}
        {{ self::parameter(field)? }}{% if !loop.last %},{% endif %}
{%- endfor %}
    ) throws {
        let config = RunConfig(
{%- for field in config %}
            {{ field.name.to_lower_camel_case() }}: {{ field.name.to_lower_camel_case() }}{% if !loop.last %},{% endif %}
{%- endfor %}
        )
        let setup = AgentSetup(
{%- for field in setup %}
            {{ field.name.to_lower_camel_case() }}: {{ field.name.to_lower_camel_case() }}{% if !loop.last %},{% endif %}
{%- endfor %}
        )
        setLanguage(language: "Swift")
        try self.init(config: config, setup: setup)
    }
}
