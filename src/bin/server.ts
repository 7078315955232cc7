import { type Config, describeSettings, parseConfig } from '../app/config.ts'
import { type Running, startServer } from '../app/start.ts'
import { version } from '../platform/version.ts'
import { AppError } from '../platform/errors.ts'
import { runDemo } from '../cli/demo.ts'

const options = new Set(['--demo', '--help', '--version'])
const SHUTDOWN_WITHIN_MS = 20_000

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const unknown = args.find((arg) => !options.has(arg))
  if (unknown !== undefined) throw new AppError('invalid', `unknown option ${unknown}; see npm start -- --help`)
  if (args.includes('--help')) return printHelp()
  if (args.includes('--version')) return print(version)
  const demo = args.includes('--demo')
  // Nobody wants to watch a demo soak for two minutes a phase.
  const defaults = demo ? { SIGNALBOX_ROLLOUT_SOAK_S: '5' } : {}
  await serve(parseConfig({ ...defaults, ...process.env }), demo)
}

async function serve(config: Config, demo: boolean): Promise<void> {
  let running: Running | null = null
  const end = (code: number): void => {
    setTimeout(() => process.exit(code || 1), SHUTDOWN_WITHIN_MS).unref()
    void (running?.stop() ?? Promise.resolve()).finally(() => process.exit(code))
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => end(0))
  // The runner died (even by kill -9): nothing of it may stay behind.
  process.once('disconnect', () => end(0))
  running = await startServer(config)
  void running.failed.then((why) => {
    running?.log.fatal(why)
    end(1)
  })
  if (demo) await runDemo({ ...running, dataDir: config.dataDir })
  print(`signalbox ready ${running.url}`)
}

function printHelp(): void {
  const lines = describeSettings().map(({ name, description }) => `  ${name.padEnd(30)}${description}`)
  print(`Usage: npm start [-- --demo]

  --demo      an organization with three sites and sixty simulated devices
  --help      this text
  --version   the release

Settings, from the environment:
${lines.join('\n')}`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

main().catch((error: unknown) => {
  const line = error instanceof AppError ? error.message : error instanceof Error ? error.stack : String(error)
  process.stderr.write(`signalbox: ${line}\n`)
  process.exit(1)
})
