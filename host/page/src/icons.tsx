// The pictures of the page. None says anything that is not said in words beside it.
const PATHS = {
  plus: "M12 5v14M5 12h14",
  menu: "M4 7h16M4 12h16M4 17h16",
  close: "M6 6l12 12M18 6L6 18",
  pencil: "M4 20l1-4L16 5l3 3L8 19z",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M7 7h10v10H7z",
  tick: "M5 12.500l4.500 4.500L19 7.500",
  cross: "M7 7l10 10M17 7L7 17",
  question: "M9 9.500a3 3 0 1 1 4.500 2.600c-1 .600-1.500 1.200-1.500 2.400M12 17.500v.100",
  barred: "M6 12a6 6 0 1 0 12 0 6 6 0 1 0-12 0M8 8l8 8",
  chevron: "M9 6l6 6-6 6",
  left: "M14 6l-6 6 6 6",
  right: "M10 6l6 6-6 6",
  down: "M12 5v14M6 13l6 6 6-6",
  again: "M19 12a7 7 0 1 1-2.200-5.100M19 4v4h-4",
  copy: "M9 9h10v10H9zM5 15V5h10",
  alert: "M12 8v5M12 16.500v.100M12 3.500L2.500 20h19z",
  inspect: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14M16.500 16.500L21 21M8 11h1.500l1.500-3 1.500 6 1-3h1",
  play: "M8 5.500l10 6.500-10 6.500z",
  pause: "M9 6v12M15 6v12",
  attach: "M19 11l-7.500 7.500a4.500 4.500 0 0 1-6.400-6.400L13 4.200a3 3 0 0 1 4.300 4.300l-7.800 7.800a1.500 1.500 0 0 1-2.200-2.200L14 7.500",
  fold: "M5 4h14M5 20h14M12 7v4M12 17v-4M9.500 9l2.500 2.500L14.500 9M9.500 15l2.500-2.500L14.500 15",
  bulb: "M9 18h6M10 21h4M8.500 14.500a5 5 0 1 1 7 0c-.700.700-1 1.500-1 2.500h-5c0-1-.300-1.800-1-2.500z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" />
      <path d="M6 9h20M9 14h14M12 19h8M14.500 24h3" />
    </svg>
  );
}
