import { commonArguments } from './tools';

/** What a model should know before its first call. A text is sent if the key may use the tool that it is about. */
const TEXTS: readonly (readonly [tool: string, text: string])[] = [
  [
    'list_publications',
    'Publications are products, listings are categories. To find products, use search_store for words and list_publications for filters; reads show only public ones unless visibility is all. Amounts of money are in hundredths: 3600 is 36.00.',
  ],
  [
    'batch_publications',
    'To change several products, call batch_publications with dry_run true first, show the person the results, and repeat it with dry_run false.',
  ],
  [
    'update_publication',
    'An error names the field and what is expected: correct the arguments and call again. Null clears an optional field.',
  ],
  ['list_history', 'list_history shows who changed what, from which value to which.'],
  [
    'undo_run',
    'undo_run takes back all changes of this session, except where somebody else has changed something since. With dry_run true it shows what it would do.',
  ],
];

const PROPOSALS =
  'If a result has the status waiting, it is a proposal: nothing has changed yet. A person must confirm it in the console.';

/** Returns the instructions of a session. `run` is its name. */
export function instructionsFor(tools: ReadonlySet<string>, stores: readonly string[], run: string): string {
  const texts = TEXTS.filter(([tool]) => tools.has(tool)).map(([, text]) => text);
  texts.push(PROPOSALS);
  for (const [name, meaning] of commonArguments()) texts.push(`The argument ${name}: ${meaning}`);
  if (stores.length > 1) texts.push(`The key has the stores ${stores.join(', ')}.`);
  texts.push(`This session is the run ${run}.`);
  return texts.join('\n');
}
