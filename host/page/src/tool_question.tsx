// What a running tool wants to know of the user: a form that its JSON Schema says, or JSON.
import { useId, useRef, useState } from "preact/hooks";
import { Ends, JsonForm, Problem } from "./answer_form";
import type { Answer } from "./api";
import { useAnswer } from "./questions";
import { formOf, objectOf, type Choice, type Field, type Form, type Named } from "./schema_form";
import type { Question } from "./view";
import { visible, Visible } from "./visible";

/** So many choices have a button each. */
const MOST_BUTTONS = 5;

interface Asked {
  isBusy: boolean;
  onGive: (payload: unknown) => void;
  onDecline: () => void;
}

export function ToolQuestion({ question, turn }: { question: Question; turn: string }) {
  const place = useRef<HTMLDivElement>(null);
  const toCard = (): void => place.current?.closest(".tool")?.querySelector<HTMLElement>(".tool-head")?.focus();
  const { isBusy, problem, give } = useAnswer(turn, question, toCard);
  const id = useId();
  const form = formOf(question.responseSchema);
  const said = (given: Omit<Answer, "interruptId">): void => void give(given);
  const asked: Asked = {
    isBusy,
    onGive: (payload) => said({ status: "resolved", payload }),
    onDecline: () => said({ status: "cancelled" }),
  };
  return (
    <div ref={place} class="question" role="group" aria-labelledby={id}>
      <p id={id} class="asked" dir="auto">
        <Visible text={question.message ?? "The tool asks you."} />
      </p>
      <Answers form={form} question={question} {...asked} />
      <Problem text={problem} />
    </div>
  );
}

function Answers({ form, question, ...asked }: Asked & { form: Form; question: Question }) {
  if (form.kind === "json") return <Json schema={question.responseSchema} {...asked} />;
  if (form.kind === "object") return <Fields fields={form.fields} {...asked} />;
  if (form.field.kind === "choice" && form.field.choices.length <= MOST_BUTTONS) return <Buttons choices={form.field.choices} {...asked} />;
  const named = { name: "answer", title: "Your answer", isRequired: true, field: form.field };
  return <Fields fields={[named]} {...asked} onGive={(payload) => asked.onGive((payload as { answer: unknown }).answer)} />;
}

function Buttons({ choices, isBusy, onGive, onDecline }: Asked & { choices: Choice[] }) {
  return (
    <div class="answers">
      {choices.map(({ label, value }, index) => (
        <button key={index} type="button" class={index === 0 ? "button primary" : "button"} disabled={isBusy} onClick={() => onGive(value)}>
          <bdi>
            <Visible text={label} />
          </bdi>
        </button>
      ))}
      <button type="button" class="button" disabled={isBusy} onClick={onDecline}>
        Decline
      </button>
    </div>
  );
}

/** A form of its fields. What it cannot hold the user to, the server does. */
function Fields({ fields, isBusy, onGive, onDecline }: Asked & { fields: Named[] }) {
  const [typed, setTyped] = useState(() => Object.fromEntries(fields.map(({ name, field }) => [name, field.initial])));
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault();
        onGive(objectOf(fields, typed));
      }}
    >
      {fields.map((named) => (
        <FieldOf key={named.name} {...named} typed={typed[named.name] ?? ""} isBusy={isBusy} onTyped={(words) => setTyped((all) => ({ ...all, [named.name]: words }))} />
      ))}
      <Ends give="Answer" leave="Decline" isBusy={isBusy} onLeave={onDecline} />
    </form>
  );
}

interface Typing {
  typed: string;
  isBusy: boolean;
  onTyped: (words: string) => void;
}

function FieldOf({ title, description, isRequired, field, ...typing }: Named & Typing) {
  const [id, about] = [useId(), useId()];
  return (
    <div class="reason">
      <label for={id} dir="auto">
        <Visible text={title} />
        {!isRequired && " (may be left out)"}
      </label>
      <Input id={id} field={field} isRequired={isRequired} about={description === undefined ? undefined : about} {...typing} />
      {description !== undefined && (
        <span id={about} class="hint" dir="auto">
          <Visible text={description} />
        </span>
      )}
    </div>
  );
}

function Input({ id, field, isRequired, about, typed, isBusy, onTyped }: Typing & { id: string; field: Field; isRequired: boolean; about: string | undefined }) {
  const shared = { id, value: typed, disabled: isBusy, ...(about !== undefined && { "aria-describedby": about }) };
  switch (field.kind) {
    case "choice":
      return (
        <select {...shared} required={isRequired} onChange={(event) => onTyped(event.currentTarget.value)}>
          <option value="">{isRequired ? "Choose…" : "None"}</option>
          {field.choices.map(({ label }, index) => (
            <option key={index} value={String(index)}>
              {visible(label)}
            </option>
          ))}
        </select>
      );
    case "number":
      return (
        <input
          {...shared}
          type="number"
          required={isRequired}
          step={field.isInteger ? 1 : "any"}
          min={field.min}
          max={field.max}
          onInput={(event) => onTyped(event.currentTarget.value)}
        />
      );
    case "text":
      return (
        <input
          {...shared}
          type="text"
          dir="auto"
          required={isRequired && (field.minLength ?? 0) > 0}
          minLength={field.minLength}
          maxLength={field.maxLength}
          onInput={(event) => onTyped(event.currentTarget.value)}
        />
      );
  }
}

/** An answer that no simple form can ask for. */
function Json({ schema, isBusy, onGive, onDecline }: Asked & { schema: unknown }) {
  return (
    <JsonForm label="Your answer, as JSON" give="Answer" leave="Decline" isBusy={isBusy} onGive={onGive} onLeave={onDecline}>
      {() =>
        schema !== undefined && (
          <details>
            <summary>Its JSON Schema</summary>
            <pre class="data" tabIndex={0} role="region" aria-label="JSON Schema" dir="ltr">
              <Visible text={JSON.stringify(schema, null, 2)} />
            </pre>
          </details>
        )
      }
    </JsonForm>
  );
}
