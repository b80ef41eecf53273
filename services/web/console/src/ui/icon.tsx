/* Icons of 24 × 24 units, drawn with lines. They are decoration: the control that shows one has a name of its own. */

const PATHS = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-4H4zM14 8h6V4h-6z',
  product: 'M4 8l8-4 8 4v8l-8 4-8-4zM4 8l8 4 8-4M12 12v8',
  listing: 'M4 6h6l2 2h8v10H4zM4 10h16',
  media: 'M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 4M15 9h.01',
  review: 'M12 4l2.5 5 5.5.8-4 3.9.9 5.5-4.9-2.6-4.9 2.6.9-5.5-4-3.9 5.5-.8z',
  import: 'M12 4v11M8 11l4 4 4-4M4 19h16',
  export: 'M12 15V4M8 8l4-4 4 4M4 19h16',
  history: 'M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4M12 8v4l3 2',
  proposal: 'M4 5h16v11H9l-5 4zM8.5 10.5l2.5 2.5 4.5-5',
  channel: 'M4 10v4h3l8 4V6l-8 4zM18 9.5a4 4 0 0 1 0 5M8 14l1 6h2l-.6-4.6',
  webhook: 'M8 8a4 4 0 1 1 6 3.5L17 17M6 20a4 4 0 1 1 3-6.5L12 8M18 20a4 4 0 1 0-3-6.6M9 17h6',
  key: 'M8 15a4 4 0 1 1 3.5-2L20 4M17 7l2 2M14 10l2 2',
  store:
    'M4 9l1.5-5h13L20 9M4 9v11h16V9M4 9a2.7 2.7 0 0 0 5.3 0 2.7 2.7 0 0 0 5.4 0A2.7 2.7 0 0 0 20 9M9 20v-6h6v6',
  operator: 'M4 12h4l2-6 4 12 2-6h4',
  search: 'M11 18a7 7 0 1 1 0-14 7 7 0 0 1 0 14zM16 16l4 4',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  check: 'M5 12l5 5L19 7',
  minus: 'M5 12h14',
  chevronDown: 'M6 9l6 6 6-6',
  chevronUp: 'M6 15l6-6 6 6',
  chevronRight: 'M9 6l6 6-6 6',
  chevronLeft: 'M15 6l-6 6 6 6',
  more: 'M5 12h.01M12 12h.01M19 12h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  filter: 'M4 6h16M7 12h10M10 18h4',
  columns: 'M4 5h16v14H4zM10 5v14M15 5v14',
  drag: 'M9 6h.01M9 12h.01M9 18h.01M15 6h.01M15 12h.01M15 18h.01',
  trash: 'M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10 11v5M14 11v5',
  undo: 'M5 9h9a5 5 0 0 1 0 10h-4M9 5L5 9l4 4',
  copy: 'M9 9h11v11H9zM5 15V4h11',
  external: 'M14 4h6v6M20 4l-9 9M18 14v6H4V6h6',
  eye: 'M3 12s3.5-6 9-6 9 6 9 6-3.5 6-9 6-9-6-9-6zM12 14.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  calendar: 'M4 6h16v14H4zM4 10h16M8 3v4M16 3v4',
  warning: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  info: 'M12 20a8 8 0 1 1 0-16 8 8 0 0 1 0 16zM12 11v5M12 8h.01',
  upload: 'M12 16V5M8 9l4-4 4 4M4 16v3h16v-3',
  download: 'M12 5v11M8 12l4 4 4-4M4 19h16',
  edit: 'M5 19l1-4L16 5l3 3L9 18zM14 7l3 3',
  play: 'M8 5l11 7-11 7z',
  stop: 'M7 7h10v10H7z',
  refresh: 'M20 12a8 8 0 1 1-2.5-5.8M20 4v4h-4',
  signOut: 'M14 4h6v16h-6M4 12h11M11 8l4 4-4 4',
  theme: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
  grid: 'M4 4h7v7H4zM13 4h7v7h-7zM4 13h7v7H4zM13 13h7v7h-7z',
  bulletList: 'M9 6h11M9 12h11M9 18h11M5 6h.01M5 12h.01M5 18h.01',
  orderedList: 'M10 6h10M10 12h10M10 18h10M4 5l1.5-1v4M4 14.5h2.5L4 18h2.5',
  quote: 'M5 5v14M9 7h11M9 12h11M9 17h7',
  link: 'M10 14l4-4M11 7l2-2a4 4 0 0 1 6 6l-2 2M13 17l-2 2a4 4 0 0 1-6-6l2-2',
} as const;

export type IconName = keyof typeof PATHS;

export const Icon = ({ name, size = 16 }: { readonly name: IconName; readonly size?: number }) => (
  <svg className="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
    <path d={PATHS[name]} />
  </svg>
);
