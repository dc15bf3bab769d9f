// Generated from bindings/src.

import { bodyText, milliseconds, threadKey } from "./module.js";
import type {
{%- for name in types %}
  {{ name }},
{%- endfor %}
} from "./types.js";

/** The inputs and queries of a run, in the JSON API. */
export abstract class RunCalls {
  protected abstract tell(input: string, nowMs: number | null | undefined, fields?: object): Outputs;

  protected abstract ask<T>(question: string, fields?: object): T;
{%- call calls(machine, "ask") %}{% endcall %}
}

/** The registry's calls, in the JSON API. */
export abstract class RegistryCalls {
  protected abstract call<T>(call: string, fields?: object): T;
{%- call calls(registry, "call") %}{% endcall %}
}
{%- macro calls(methods, how) %}
{%- for method in methods %}

{{ self::comment(&self::doc(method), None, 2) }}
{%- let name = json::name(method.name) %}
{%- let fields = self::fields(method) %}
{%- if method.takes_time() %}
  {{ name }}({{ self::parameters(method) }}): Outputs {
    return this.tell("{{ name }}", nowMs{{ fields }});
  }
{%- else if let Some(value) = method.returns %}
{%- let [ty, argument, absent] = self::answer(method, value) %}
  {% if self::is_property(method) %}get {% endif %}{{ name }}({{ self::parameters(method) }}): {{ ty }} {
    return this.{{ how }}{{ argument }}("{{ name }}"{{ fields }}){{ absent }};
  }
{%- else %}
  {{ name }}({{ self::parameters(method) }}): void {
    this.{{ how }}("{{ name }}"{{ fields }});
  }
{%- endif %}
{%- endfor %}
{%- endmacro %}
