// Questions to the user: whether a tool may run, or what an agent wants to know. `tool_question.tsx` has those of running tools.
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Ends, JsonForm, Problem } from "./answer_form";
import type { Answer } from "./api";
import { connection } from "./connection";
import { toComposer } from "./focus";
import { answer } from "./session";
import type { Call, Question } from "./view";
import { visible, Visible } from "./visible";

/** How a question is answered: what is wrong with the answer, if it was not taken. */
export function useAnswer(turn: string, question: Question, leave: () => void) {
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const { value: reached } = connection;
  // That the server was away is no longer so.
  useEffect(() => {
    if (reached === "found") setProblem(null);
  }, [reached]);
  const give = async (given: Omit<Answer, "interruptId">): Promise<void> => {
    setBusy(true);
    setProblem(null);
    // The buttons will be gone.
    leave();
    const wrong = await answer(turn, { interruptId: question.id, ...given });
    setProblem(wrong);
    // Else the events take the question away.
    if (wrong !== null) setBusy(false);
  };
  return { isBusy, problem, give };
}

export function Approval({ question, call, turn }: { question: Question; call: Call; turn: string }) {
  const place = useRef<HTMLDivElement>(null);
  const toCard = (): void => place.current?.closest(".tool")?.querySelector<HTMLElement>(".tool-head")?.focus();
  const { isBusy, problem, give } = useAnswer(turn, question, toCard);
  const [isDenying, setDenying] = useState(false);
  const [isEditing, setEditing] = useState(false);
  const [reason, setReason] = useState("");
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), [isDenying]);
  const deny = (): void => {
    const said = reason.trim();
    void give({ status: "resolved", payload: { approved: false, ...(said === "" ? {} : { reason: said }) } });
  };
  return (
    <div ref={place} class="question" role="group" aria-labelledby={id}>
      <p id={id} class="asked">
        {"May "}
        <strong>
          <bdi dir="ltr">
            <Visible text={call.name} />
          </bdi>
        </strong>
        {" run with these arguments?"}
      </p>
      {isEditing ? (
        <EditArguments
          args={call.args}
          isBusy={isBusy}
          onBack={() => setEditing(false)}
          onGive={(editedArgs) => void give({ status: "resolved", payload: { approved: true, editedArgs } })}
        />
      ) : isDenying ? (
        <form
          class="answers"
          onSubmit={(event) => {
            event.preventDefault();
            deny();
          }}
        >
          <label class="reason">
            <span>Why not? The model reads it.</span>
            <input
              value={reason}
              disabled={isBusy}
              placeholder="No reason"
              ref={field}
              onInput={(event) => setReason(event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key !== "Escape") return;
                event.stopPropagation();
                setDenying(false);
              }}
            />
          </label>
          <button type="submit" class="button danger" disabled={isBusy}>
            Deny
          </button>
          <button type="button" class="button" disabled={isBusy} onClick={() => setDenying(false)}>
            Back
          </button>
        </form>
      ) : (
        <div class="answers">
          <button type="button" class="button primary" disabled={isBusy} onClick={() => void give({ status: "resolved", payload: { approved: true } })}>
            Approve
          </button>
          <button type="button" class="button" disabled={isBusy} onClick={() => setEditing(true)}>
            Edit…
          </button>
          <button type="button" class="button" disabled={isBusy} onClick={() => setDenying(true)}>
            Deny…
          </button>
        </div>
      )}
      <Problem text={problem} />
    </div>
  );
}

interface Editing {
  args: string;
  isBusy: boolean;
  onBack: () => void;
  onGive: (args: object) => void;
}

/** Other arguments in the place of the model's. */
function EditArguments({ args, isBusy, onBack, onGive }: Editing) {
  return (
    <JsonForm
      label="The tool runs with these arguments. The model is told that you changed them."
      initial={indented(args)}
      isOpened
      give="Approve with these"
      leave="Back"
      isBusy={isBusy}
      wrong={(value) => (isObject(value) ? null : "A tool is given no such arguments: they are an object in braces.")}
      onGive={(value) => {
        if (isObject(value)) onGive(value);
      }}
      onLeave={onBack}
    >
      {(text) =>
        visible(text) !== text.replaceAll("\r\n", "\n") && (
          <p class="hint">The text above has marks that are not seen, or that turn others round. They are shown in the arguments of the call.</p>
        )
      }
    </JsonForm>
  );
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function indented(args: string): string {
  try {
    return JSON.stringify(JSON.parse(args), null, 2);
  } catch {
    return args;
  }
}

/** A question that is about no tool. */
export function OpenQuestion({ question, turn }: { question: Question; turn: string }) {
  const { isBusy, problem, give } = useAnswer(turn, question, toComposer);
  const [text, setText] = useState("");
  return (
    <form
      class="question alone"
      aria-label="A question to you"
      onSubmit={(event) => {
        event.preventDefault();
        void give({ status: "resolved", payload: valueOf(text) });
      }}
    >
      <label class="reason">
        <span dir="auto">
          <Visible text={question.message ?? "The agent asks you."} />
        </span>
        <textarea rows={2} value={text} disabled={isBusy} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
      <Ends give="Answer" leave="Dismiss" isBusy={isBusy} onLeave={() => void give({ status: "cancelled" })} />
      <Problem text={problem} />
    </form>
  );
}

/** An agent may ask for JSON: what is none is a text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
