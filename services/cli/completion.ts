import type { Argument, Command, Option } from 'commander';

/** The shells that `catalog completion` supports. */
export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The values that an argument or option takes: one of a list, a path, or a text that cannot be completed. */
type Values = readonly string[] | 'file' | 'text';

interface Flag {
  readonly option: Option;
  /** Undefined for an option without a value. */
  readonly values: Values | undefined;
}

/** A command as a shell sees it. `path` is empty for `catalog` itself. */
interface Place {
  readonly path: readonly string[];
  readonly commands: readonly Command[];
  readonly flags: readonly Flag[];
  readonly operands: readonly Values[];
}

/** Returns a script that completes the commands, options and values of `program`, which the user sources in the shell. */
export function completionScript(program: Command, shell: Shell): string {
  const places = placesOf(program, []);
  return shell === 'fish' ? fishScript(places) : shell === 'zsh' ? zshScript(places) : bashScript(places);
}

function placesOf(command: Command, path: readonly string[]): Place[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const place: Place = {
    path,
    commands,
    flags: help.visibleOptions(command).map((option) => ({ option, values: valuesOfOption(option) })),
    operands: command.registeredArguments.map(valuesOfArgument),
  };
  return [place, ...commands.flatMap((each) => placesOf(each, [...path, each.name()]))];
}

function valuesOfOption(option: Option): Values | undefined {
  if (!option.required && !option.optional) return undefined;
  return option.argChoices ?? (option.flags.includes('<file>') ? 'file' : 'text');
}

function valuesOfArgument(argument: Argument): Values {
  return argument.argChoices ?? (argument.name() === 'file' ? 'file' : 'text');
}

const namesOf = ({ option }: Flag): string[] =>
  [option.short, option.long].filter((name) => name !== undefined);

const bashScript = (places: readonly Place[]): string => `# Completion of catalog for bash. Load it with:
#   source <(catalog completion bash)
_catalog_words() { COMPREPLY=($(compgen -W "$1" -- "$current")); }
_catalog_files() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$current"))
  compopt -o filenames 2>/dev/null
}
${completeFunction(places)}
_catalog() { _catalog_complete "\${COMP_WORDS[COMP_CWORD]}" "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; }
complete -F _catalog catalog
`;

const zshScript = (places: readonly Place[]): string => `#compdef catalog
# Completion of catalog for zsh. Load it after compinit with:
#   source <(catalog completion zsh)
_catalog_words() { compadd -- \${=1} }
_catalog_files() { _files }
${completeFunction(places)}
_catalog() { _catalog_complete "\${words[CURRENT]}" "\${(@)words[2,CURRENT-1]}" }
compdef _catalog catalog
`;

/**
 * Returns a function for bash and zsh. It walks through the words before the current one, and then offers the values of
 * an option, the commands or operands of the command that it has reached, or its options.
 */
function completeFunction(places: readonly Place[]): string {
  const at = ({ path }: Place): string => path.map((name) => ` ${name}`).join('');
  const pattern = (texts: readonly string[]): string => texts.map((text) => `'${text}'`).join('|');
  const flags = places.flatMap((place) =>
    place.flags.flatMap((flag) =>
      flag.values === undefined
        ? []
        : [{ keys: namesOf(flag).map((name) => `${at(place)} ${name}`), values: flag.values }],
    ),
  );
  const values = (keys: readonly string[], offered: Values): string =>
    offered === 'file'
      ? `${pattern(keys)}) _catalog_files; return ;;`
      : `${pattern(keys)}) _catalog_words '${offered === 'text' ? '' : offered.join(' ')}'; return ;;`;
  const operands = places.flatMap((place) =>
    place.operands.map((offered, index) => ({ key: `${at(place)} ${index}`, values: offered })),
  );
  const lines = (indent: string, all: readonly string[]): string =>
    all.map((line) => indent + line).join('\n');
  return `_catalog_complete() {
  local current=$1 at='' option='' names='' flags='' position=0 word
  shift
  for word in "$@"; do
    if [ -n "$option" ]; then
      option=''
      continue
    fi
    case "$at $word" in
      ${pattern(places.slice(1).map(at))}) at="$at $word" ;;
      ${pattern(flags.flatMap(({ keys }) => keys))}) option="$at $word" ;;
      "$at "-*) ;;
      *) position=$((position + 1)) ;;
    esac
  done
  case "$option" in
${lines(
  '    ',
  flags.map((flag) => values(flag.keys, flag.values)),
)}
  esac
  case "$at" in
${lines(
  '    ',
  places.map(
    (place) =>
      `'${at(place)}') names='${place.commands.map((each) => each.name()).join(' ')}' ` +
      `flags='${place.flags.flatMap(namesOf).join(' ')}' ;;`,
  ),
)}
  esac
  case "$current" in
    -*) _catalog_words "$flags"; return ;;
  esac
  case "$at $position" in
${lines(
  '    ',
  operands
    .filter((operand) => operand.values !== 'text')
    .map((operand) => values([operand.key], operand.values)),
)}
  esac
  _catalog_words "\${names:-$flags}"
}`;
}

function fishScript(places: readonly Place[]): string {
  const quote = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`;
  const lines = places.flatMap((place) => {
    const { path, commands, flags, operands } = place;
    const reached = commands.length > 0 ? '__catalog_at' : '__catalog_in';
    const complete = `complete -c catalog -n ${quote([reached, ...path].join(' '))}`;
    const valuesOf = (values: Values): string =>
      values === 'file' ? ' -F' : values === 'text' ? ' -f' : ` -f -a ${quote(values.join(' '))}`;
    return [
      ...commands.map(
        (each) => `${complete} -a ${each.name()} -d ${quote(each.summary() || each.description())}`,
      ),
      ...flags.map(({ option, values }) => {
        const short = option.short ? ` -s ${option.short.slice(1)}` : '';
        const value = values === undefined ? '' : ` -r${valuesOf(values)}`;
        return `${complete} -l ${option.long!.slice(2)}${short}${value} -d ${quote(option.description)}`;
      }),
      ...operands.filter((values) => values !== 'text').map((values) => `${complete}${valuesOf(values)}`),
    ];
  });
  return `# Completion of catalog for fish. Load it with:
#   catalog completion fish | source
function __catalog_words
    set -l words (commandline -opc)
    set -e words[1]
    string match -v -- '-*' $words
end
# Whether the words before the cursor are exactly this command.
function __catalog_at
    set -l words (__catalog_words)
    test "$words" = "$argv"
end
# Whether the words before the cursor start with this command.
function __catalog_in
    set -l words (__catalog_words)
    string match -q -- "$argv *" "$words "
end
complete -c catalog -f
${lines.join('\n')}
`;
}
