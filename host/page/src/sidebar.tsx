// The sessions: new ones, other names, away with one, and marks for those that run or have news.
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Confirm } from "./dialogs";
import { toComposer } from "./focus";
import { Icon, Logo } from "./icons";
import { addressOf, goTo, place } from "./place";
import { running } from "./session";
import { nextTheme, theme } from "./theme";
import { hasMore, isDurable, isUnread, remove, rename, showAll, showMore, threads } from "./threads";
import { visible } from "./visible";
import type { Thread } from "./api";

export function Sidebar({ onChosen }: { onChosen: () => void }) {
  const [renamed, setRenamed] = useState<string | null>(null);
  const [removed, setRemoved] = useState<Thread | null>(null);
  const start = useRef<HTMLAnchorElement>(null);
  const [wanted, setWanted] = useState("");
  const list = threads.value;
  const words = wanted.trim().toLowerCase();
  const found = list?.filter((thread) => nameOf(thread).toLowerCase().includes(words)) ?? [];
  return (
    <>
      <div class="brand">
        <Logo />
        <span>Stepwell</span>
      </div>
      <a
        ref={start}
        class="button new"
        href={addressOf(null)}
        onClick={(event) => {
          event.preventDefault();
          goTo(null, null);
          onChosen();
          toComposer();
        }}
      >
        <Icon name="plus" />
        New session
      </a>
      {list !== null && list.length > 0 && (
        <input
          type="search"
          class="search"
          aria-label="Search the sessions by title"
          placeholder="Search"
          value={wanted}
          onInput={(event) => {
            setWanted(event.currentTarget.value);
            showAll();
          }}
        />
      )}
      <nav class="sessions" aria-label="Sessions">
        {list?.length === 0 && <p class="nothing">Your sessions will stand here.</p>}
        {list !== null && list.length > 0 && found.length === 0 && (
          <p class="nothing" role="status">
            No session is called so.
          </p>
        )}
        {byDate(found).map(([when, group]) => (
          <section key={when} aria-label={when}>
            <p class="group" aria-hidden="true">
              {when}
            </p>
            <ul>
              {group.map((thread) => (
                <Entry
                  key={thread.threadId}
                  thread={thread}
                  isRenamed={renamed === thread.threadId}
                  onChosen={onChosen}
                  onRename={(isRenamed) => setRenamed(isRenamed ? thread.threadId : null)}
                  onRemove={() => setRemoved(thread)}
                />
              ))}
            </ul>
          </section>
        ))}
        {hasMore.value && (
          <button type="button" class="button more" onClick={showMore}>
            Show more
          </button>
        )}
      </nav>
      {!isDurable.value && (
        <p class="memory">
          Sessions are kept in memory, and are gone when the server stops. <code>--store sqlite:FILE</code> keeps them.
        </p>
      )}
      <button type="button" class="button theme" title="Changes the theme" onClick={nextTheme}>
        {`Theme: ${theme.value}`}
      </button>
      {removed && (
        <Confirm
          title="Delete this session?"
          words={`“${nameOf(removed)}” and all that is in it will be gone.`}
          action="Delete"
          onConfirm={async () => {
            await remove(removed.threadId);
            setRemoved(null);
            if (place.value.thread === removed.threadId) goTo(null, null);
            start.current?.focus();
          }}
          onCancel={() => setRemoved(null)}
        />
      )}
    </>
  );
}

function nameOf(thread: Thread): string {
  return visible(thread.title.trim()) || "Untitled";
}

const DAY_MS = 86_400_000;

/** In groups by when something was last said, the latest first, as the list is. */
function byDate(list: Thread[]): [string, Thread[]][] {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const groups = new Map<string, Thread[]>();
  for (const thread of list) {
    const at = thread.updatedAt;
    const when = at >= midnight ? "Today" : at >= midnight - DAY_MS ? "Yesterday" : at >= midnight - 7 * DAY_MS ? "The last 7 days" : "Earlier";
    groups.set(when, [...(groups.get(when) ?? []), thread]);
  }
  return [...groups];
}

function Entry(props: {
  thread: Thread;
  isRenamed: boolean;
  onChosen: () => void;
  onRename: (isRenamed: boolean) => void;
  onRemove: () => void;
}) {
  const { thread, isRenamed, onChosen, onRename, onRemove } = props;
  const isCurrent = place.value.thread === thread.threadId;
  const needsUser = isCurrent ? (running.value?.questions.length ?? 0) > 0 : thread.needsUser;
  const isRunning = thread.unfinishedTurn !== null && !needsUser;
  const hasNews = !isCurrent && isUnread(thread);
  const link = useRef<HTMLAnchorElement>(null);
  const title = nameOf(thread);
  if (isRenamed) {
    return (
      <li class="entry">
        <Rename
          title={thread.title}
          onDone={(changed) => {
            onRename(false);
            if (changed !== null) void rename(thread.threadId, changed).catch(() => {});
            requestAnimationFrame(() => link.current?.focus());
          }}
        />
      </li>
    );
  }
  return (
    <li class={`entry ${isCurrent ? "current" : ""}`}>
      <a ref={link} href={addressOf(thread.threadId)} aria-current={isCurrent ? "page" : undefined} title={title} onClick={onChosen}>
        {isRunning && <span class="spinner small" aria-hidden="true" />}
        {needsUser && (
          <span class="needs" aria-hidden="true">
            <Icon name="question" />
          </span>
        )}
        {hasNews && <span class="news" aria-hidden="true" />}
        <span class={`title ${hasNews ? "strong" : ""}`} dir="auto">
          {title}
        </span>
        {isRunning && <span class="unseen">(running)</span>}
        {needsUser && <span class="unseen">(needs you)</span>}
        {hasNews && <span class="unseen">(unread)</span>}
      </a>
      {/* By keys, in the session that is open: three stops for each one would be many. */}
      <span class="entry-actions">
        <button type="button" class="quiet" tabIndex={isCurrent ? 0 : -1} aria-label={`Rename ${title}`} title="Rename" onClick={() => onRename(true)}>
          <Icon name="pencil" />
        </button>
        <button type="button" class="quiet" tabIndex={isCurrent ? 0 : -1} aria-label={`Delete ${title}`} title="Delete" onClick={onRemove}>
          <Icon name="trash" />
        </button>
      </span>
    </li>
  );
}

function Rename({ title, onDone }: { title: string; onDone: (title: string | null) => void }) {
  const [text, setText] = useState(title);
  const field = useRef<HTMLInputElement>(null);
  const isDone = useRef(false);
  useLayoutEffect(() => field.current?.select(), []);
  const done = (changed: string | null): void => {
    if (isDone.current) return;
    isDone.current = true;
    onDone(changed !== null && changed.trim() !== "" && changed.trim() !== title ? changed.trim() : null);
  };
  return (
    <form
      class="renaming"
      onSubmit={(event) => {
        event.preventDefault();
        done(text);
      }}
    >
      <input
        ref={field}
        aria-label="Title of the session"
        maxLength={200}
        value={text}
        dir="auto"
        onInput={(event) => setText(event.currentTarget.value)}
        onBlur={() => done(text)}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          done(null);
        }}
      />
    </form>
  );
}
