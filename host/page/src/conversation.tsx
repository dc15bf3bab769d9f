// The turns of the session, and where the user stands in them.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { toComposer } from "./focus";
import { Icon, Logo } from "./icons";
import { goTo, place } from "./place";
import { examples } from "./server";
import { say, show, state, turns } from "./session";
import { TurnView } from "./turn";

/** So near the end counts as at the end. */
const NEAR = 80;

export function Conversation() {
  const view = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  const scrolledTo = useRef(0);
  const [isAway, setAway] = useState(false);
  const all = turns.value;

  const toEnd = (): void => {
    isAtEnd.current = true;
    setAway(false);
    view.current?.scrollTo({ top: view.current.scrollHeight });
  };
  // Another session, or another turn, is shown from its end.
  useLayoutEffect(toEnd, [place.value.thread, all.length]);
  // What grows is followed, unless the user reads elsewhere.
  useEffect(() => {
    const scrolled = view.current;
    if (!scrolled?.firstElementChild) return;
    const follow = new ResizeObserver(() => {
      if (isAtEnd.current) scrolled.scrollTo({ top: scrolled.scrollHeight });
    });
    follow.observe(scrolled.firstElementChild);
    follow.observe(scrolled);
    return () => follow.disconnect();
  }, []);

  return (
    <div class="conversation">
      <div
        ref={view}
        class="scrolled"
        tabIndex={0}
        role="region"
        aria-label="Conversation"
        onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
          // What has grown since leaves the user where they were: only who scrolls up is elsewhere.
          const isNear = scrollTop + clientHeight >= scrollHeight - NEAR;
          if (isNear) isAtEnd.current = true;
          else if (scrollTop < scrolledTo.current) isAtEnd.current = false;
          scrolledTo.current = scrollTop;
          setAway(!isAtEnd.current);
        }}
      >
        <div class="turns">
          {state.value === "new" && all.length === 0 && <Welcome />}
          {state.value === "loading" && <p class="thinking">Loading</p>}
          {state.value === "gone" && (
            <Notice title="This session is not there any more" words="It was deleted, or was kept in the memory of a server that has stopped.">
              <button type="button" class="button" onClick={() => goTo(null, null)}>
                New session
              </button>
            </Notice>
          )}
          {state.value === "failed" && (
            <Notice title="The session cannot be shown" words="What went wrong is said below.">
              <button type="button" class="button" onClick={() => void show()}>
                Try again
              </button>
            </Notice>
          )}
          {state.value !== "gone" && all.map((turn, index) => <TurnView key={turn.id} turn={turn} isLast={index === all.length - 1} />)}
        </div>
      </div>
      {isAway && (
        <button type="button" class="round to-end" aria-label="To the end" title="To the end" onClick={toEnd}>
          <Icon name="down" />
        </button>
      )}
    </div>
  );
}

function Notice({ title, words, children }: { title: string; words: string; children: preact.ComponentChildren }) {
  return (
    <div class="notice">
      <h2>{title}</h2>
      <p>{words}</p>
      {children}
    </div>
  );
}

function Welcome() {
  return (
    <div class="welcome">
      <Logo />
      <h2>What shall we do?</h2>
      <p>An answer goes on when you close the page, and is here when you come back.</p>
      {examples.value.length > 0 && (
        <ul class="examples" aria-label="Examples">
          {examples.value.map((words) => (
            <li key={words}>
              <button type="button" class="button" onClick={() => {
                  void say(words);
                  toComposer();
                }}>
                {words}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
