/** Commander's messages, each with its replacement and whether to mention the help of the command. */
const WORDINGS: readonly (readonly [pattern: RegExp, message: string, see_help: boolean])[] = [
  [/^required option '(.+)' not specified$/, 'Missing required option $1.', true],
  [/^missing required argument '(.+)'$/, 'Missing required argument <$1>.', true],
  [/^option '(.+)' argument missing$/, 'Option $1 needs a value.', true],
  [/^unknown option '(.+?)'(?: \((Did you mean .+\?)\))?$/, 'Unknown option $1. $2', true],
  [/^unknown command '(.+?)'(?: \((Did you mean .+\?)\))?$/, 'Unknown command "$1". $2', true],
  [
    /^too many arguments(?: for '.+')?\. Expected (\d+) arguments? but got (\d+)\.$/,
    'Too many arguments: expected $1, got $2.',
    true,
  ],
  [
    /^option '(?:-\w, )?(--[\w-]+).*' argument '(.*)' is invalid\. Allowed choices are (.+)\.$/,
    'Invalid $1 "$2": expected one of $3.',
    false,
  ],
  [
    /^command-argument value '(.*)' is invalid for argument '(.+)'\. Allowed choices are (.+)\.$/,
    'Invalid $2 "$1": expected one of $3.',
    false,
  ],
];

/**
 * Turns an error message of commander into one line: what is wrong, what is expected, and where the help is. `command`
 * is the path of the command, such as `catalog key create`. Returns an unknown message on one line, otherwise unchanged.
 */
export function usageError(text: string, command: string): string {
  const original = text
    .replace(/^error: /, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();
  for (const [pattern, message, see_help] of WORDINGS)
    if (pattern.test(original)) {
      const reworded = original.replace(pattern, message).trim();
      return `catalog: ${reworded}${see_help ? ` Run "${command} --help" for usage.` : ''}\n`;
    }
  return `catalog: ${original}\n`;
}
