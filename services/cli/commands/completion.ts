import { Argument, type Command, type Option } from 'commander';
import { writeOut } from '../invocation';

/**
 * The scripts that users load into their shells, by shell. On each Tab, the script runs the hidden command `complete`, which
 * prints one word to offer per line. If it prints none, the shell offers file names.
 */
const SCRIPTS = {
  bash: `# Completion of catalog for bash. Load it with:
#   source <(catalog completion bash)
_catalog() {
  local IFS=$'\\n'
  COMPREPLY=($(catalog complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _catalog catalog
`,
  zsh: `#compdef catalog
# Completion of catalog for zsh. Load it after compinit with:
#   source <(catalog completion zsh)
_catalog() {
  local -a offered
  offered=(\${(f)"$(catalog complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#offered )); then compadd -- $offered; else _files; fi
}
compdef _catalog catalog
`,
  fish: `# Completion of catalog for fish. Load it with:
#   catalog completion fish | source
function __catalog_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    catalog complete -- $words[2..] "$current" 2>/dev/null
end
complete -c catalog -a '(__catalog_complete)'
`,
} as const;

export function completionCommands(program: Command): void {
  const shells = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];
  program
    .command('completion')
    .description('Print a script that completes commands, options and values in a shell')
    .addArgument(new Argument('<shell>', 'The shell that loads the script').choices(shells))
    .action((shell: keyof typeof SCRIPTS) => writeOut(SCRIPTS[shell]));
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action((words: readonly string[]) => writeOut(completionsOf(program, words).join('\n')));
}

/**
 * Returns what may complete the last of the words after `catalog`: the values of an option, the commands or the choices of
 * the command that the words name, or its options. Returns nothing for a text or a file.
 */
export function completionsOf(program: Command, words: readonly string[]): string[] {
  const current = words.at(-1) ?? '';
  let command = program;
  let position = 0;
  let option: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (option) option = undefined;
    else if (word.startsWith('-'))
      option = optionsOf(command).find((each) => [each.short, each.long].includes(word) && takesValue(each));
    else {
      const named = command.commands.find((each) => each.name() === word);
      if (!named) position++;
      command = named ?? command;
    }
  }
  const offered = option ? (option.argChoices ?? []) : offeredBy(command, position, current);
  return offered.filter((each) => each.startsWith(current));
}

function offeredBy(command: Command, position: number, current: string): readonly string[] {
  const flags = optionsOf(command).flatMap(({ short, long }) => [short ?? [], long ?? []].flat());
  if (current.startsWith('-')) return flags;
  const operand = command.registeredArguments[position];
  if (operand) return operand.argChoices ?? [];
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((each) => each.name());
  return names.length > 0 ? names : flags;
}

const optionsOf = (command: Command): Option[] => command.createHelp().visibleOptions(command);
const takesValue = ({ required, optional }: Option): boolean => required || optional;
