import { Command, CommanderError } from 'commander'
import { version } from '../platform/version.ts'
import type { Api } from './api.ts'
import { addAccountCommands } from './commands/account.ts'
import { addApiCommand } from './commands/api.ts'
import type { AddCommands } from './commands/command.ts'
import { addDeviceCommands } from './commands/devices.ts'
import { addFirmwareCommands } from './commands/firmware.ts'
import { addLogCommands } from './commands/logs.ts'
import { addSiteCommands } from './commands/sites.ts'
import { addUpgradeCommands } from './commands/upgrades.ts'
import { addWebhookCommands } from './commands/webhooks.ts'
import { completionScript, isShell } from './completion.ts'
import { CommandError, type Outcome, exitCodes } from './exit-codes.ts'
import { type Surroundings, openSession } from './session.ts'

const parts: readonly AddCommands[] = [
  addAccountCommands,
  addSiteCommands,
  addDeviceCommands,
  addUpgradeCommands,
  addFirmwareCommands,
  addLogCommands,
  addWebhookCommands,
  addApiCommand,
]

/** Makes the program, whose commands also describe themselves in the help and in the completion of shells. */
export function createProgram(surroundings: Surroundings): Command {
  const program = new Command('signalbox')
    .description('Operates the networks of a Signalbox server through its API.')
    .version(version)
    .option('--url <url>', 'the server; default: SIGNALBOX_URL, or the server of the last sign-in')
    .option('--org <name or id>', 'the organization; default: SIGNALBOX_ORG, or that of the sign-in')
    .option('--ca <file>', 'a CA in PEM that the server may have its certificate from, besides the public ones')
    .option('--json', 'print the result as one line of JSON')
    .configureHelp({ showGlobalOptions: true })
    .addHelpText('after', () => exitCodeText())
  for (const add of parts) add(program, (command) => openSession(command, surroundings))
  program
    .command('completion <shell>')
    .description('print a script that completes commands: source <(signalbox completion bash)')
    .action((shell: string, _options, command) => {
      if (!isShell(shell)) throw new CommandError('usage', `${JSON.stringify(shell)} is not bash, zsh or fish`)
      const script = completionScript(program, shell)
      openSession(command, surroundings).output.show({ shell, script }, () => script)
    })
  return program
}

function exitCodeText(): string {
  return ['', 'Exit codes:', ...Object.values(exitCodes).map(({ code, meaning }) => `  ${code}  ${meaning}`)].join('\n')
}

/** Runs one command and reports its result. */
export async function runProgram(
  args: readonly string[],
  { terminal, env, interrupted }: Omit<Surroundings, 'opened'>,
): Promise<number> {
  const opened: Api[] = []
  const program = createProgram({ terminal, env, interrupted, opened })
  for (const command of allOf(program)) {
    command.exitOverride()
    command.configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
  }
  try {
    await program.parseAsync(args, { from: 'user' })
    return exitCodes[interrupted.aborted ? 'interrupted' : 'done'].code
  } catch (error) {
    // Commander has already printed the error.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done.code : exitCodes.usage.code
    const outcome: Outcome = error instanceof CommandError ? error.outcome : 'failed'
    const line = error instanceof CommandError ? error.message : error instanceof Error ? error.stack : String(error)
    terminal.stderr.write(`signalbox: ${line}\n`)
    return exitCodes[outcome].code
  } finally {
    for (const api of opened) await api.close()
  }
}

function allOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap((each) => allOf(each))]
}
