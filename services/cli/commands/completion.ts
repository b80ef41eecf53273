import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../completion';
import { printAnswer } from '../invocation';

export function completionCommand(program: Command): void {
  program
    .command('completion')
    .description('Print a script that completes commands, options and values in a shell')
    .addArgument(new Argument('<shell>', 'The shell that loads the script').choices(SHELLS))
    .action(async (shell: Shell) => {
      await printAnswer(false, undefined, () => completionScript(program, shell));
    });
}
