import type { Language } from '../../texts/texts';

/** A line of the opening hours, as customers read it: `Monday to Friday`, `09:00–18:00`. */
export interface Line {
  readonly day: string;
  readonly hours: string;
}

/** Times of a day such as `09:00`. */
export interface Interval {
  readonly from: string;
  readonly to: string;
}

/** Opening hours by day. */
export interface Week {
  /** The language of the lines. */
  readonly language: Language;
  /** The hours of Monday to Sunday; empty on a day without. */
  readonly days: readonly (readonly Interval[])[];
  /** What a line says of a day without hours, such as `Closed`; undefined for a day that no line names. */
  readonly closed: readonly (string | undefined)[];
  /** Lines that are not about days of the week, such as `Holidays`, or that have other hours than times. */
  readonly others: readonly Line[];
}

const RANGE_WORDS: Readonly<Record<Language, string>> = { en: 'to', es: 'a' };
const RANGE = /\s*(?:[-–—]|\b(?:to|through|a|al)\b)\s*/;
const LIST = /\s*(?:[,;/&]|\b(?:and|y)\b)\s*/;
const CLOSED = /^(closed|cerrado)$/;
const TIME = /^(\d{1,2})(?:[:.](\d{2}))?\s*(?:h|hrs?)?\s*([ap])?(?:\.?\s?m\.?)?$/;
const LANGUAGES = Object.keys(RANGE_WORDS) as Language[];

/** 1 January 2024 was a Monday. */
const dateOf = (day: number): Date => new Date(2024, 0, 1 + day);
export const dayName = (day: number, locale: string): string => {
  const name = new Intl.DateTimeFormat(locale, { weekday: 'long' }).format(dateOf(day));
  return name.charAt(0).toLocaleUpperCase(locale) + name.slice(1);
};
const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/[\u0300-\u036f.]/g, '')
    .trim()
    .toLowerCase();

/** The days and languages of the names of days, long and short. */
const DAYS = new Map(
  LANGUAGES.flatMap((language) =>
    (['long', 'short'] as const).flatMap((weekday) =>
      [0, 1, 2, 3, 4, 5, 6].map((day) => {
        const name = new Intl.DateTimeFormat(language, { weekday }).format(dateOf(day));
        return [plain(name), { day, language }] as const;
      }),
    ),
  ),
);

function readDays(text: string): number[] | undefined {
  const parts = plain(text).split(LIST);
  const days = parts.flatMap((part) => {
    const [first, last = first, ...rest] = part.split(RANGE).map((name) => DAYS.get(name)?.day);
    if (first === undefined || last === undefined || last < first || rest.length > 0) return [undefined];
    return Array.from({ length: last - first + 1 }, (_, n) => first + n);
  });
  return days.every((day) => day !== undefined) ? days : undefined;
}

function readTime(text: string): string | undefined {
  const [, hour, minute = '00', half] = TIME.exec(text) ?? [];
  if (hour === undefined) return undefined;
  const hours = half ? (Number(hour) % 12) + (half === 'p' ? 12 : 0) : Number(hour);
  if (hours > 23 || Number(minute) > 59) return undefined;
  return `${String(hours).padStart(2, '0')}:${minute}`;
}

function readHours(text: string): Interval[] | undefined {
  const bare = plain(text);
  if (CLOSED.test(bare)) return [];
  const intervals = text
    .toLowerCase()
    .trim()
    .split(LIST)
    .map((part) => {
      const [from, to, ...rest] = part.split(RANGE).map((time) => readTime(time.trim()));
      return from && to && rest.length === 0 ? { from, to } : undefined;
    });
  return intervals.every((interval) => interval !== undefined) ? intervals : undefined;
}

/** Reads the lines in both languages. `preferred`: the language of a week that has none yet. */
export function readWeek(lines: readonly Line[], preferred: Language): Week {
  const days: Interval[][] = Array.from({ length: 7 }, () => []);
  const closed: (string | undefined)[] = days.map(() => undefined);
  const others: Line[] = [];
  let language: Language | undefined;
  for (const line of lines) {
    const named = readDays(line.day);
    const hours = readHours(line.hours);
    const is_week =
      named && hours && named.every((day) => days[day]!.length === 0 && closed[day] === undefined);
    if (!is_week) others.push(line);
    else {
      language ??= DAYS.get(plain(line.day).split(/[\s,\-–]/)[0]!)?.language;
      for (const day of named) {
        days[day] = hours;
        if (hours.length === 0) closed[day] = line.hours;
      }
    }
  }
  return { language: language ?? preferred, days, closed, others };
}

const hoursOf = (intervals: readonly Interval[]): string =>
  intervals.map(({ from, to }) => `${from}–${to}`).join(', ');

/** Returns the lines of a week: one for days in a row with the same hours. */
export function linesOf({ language, days, closed, others }: Week): Line[] {
  const lines: Line[] = [];
  const texts = days.map((intervals, day) => hoursOf(intervals) || (closed[day] ?? ''));
  for (let first = 0; first < days.length; ) {
    const hours = texts[first]!;
    let last = first;
    while (last + 1 < days.length && texts[last + 1] === hours) last += 1;
    const [from, to] = [dayName(first, language), dayName(last, language)];
    const name = language === 'es' ? to.toLowerCase() : to;
    if (hours !== '')
      lines.push({ day: first === last ? from : `${from} ${RANGE_WORDS[language]} ${name}`, hours });
    first = last + 1;
  }
  return [...lines, ...others];
}
