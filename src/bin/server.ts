import { type Config, describeSettings, parseConfig } from '../app/config/config.ts'
import { type Running, STOP_WITHIN_MS, startServer } from '../app/start.ts'
import { saveMemory } from '../platform/process/save-memory.ts'
import { version } from '../platform/version.ts'
import { AppError } from '../platform/errors.ts'

const options = new Set(['--demo', '--help', '--version'])
/** The process ends after this time even if its parts have not stopped. */
const SHUTDOWN_WITHIN_MS = STOP_WITHIN_MS + 1000

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const unknown = args.find((arg) => !options.has(arg))
  if (unknown !== undefined) throw new AppError('invalid', `unknown option ${unknown}; see npm start -- --help`)
  if (args.includes('--help')) return printHelp()
  if (args.includes('--version')) return print(version)
  const demo = args.includes('--demo')
  // The default soak time of two minutes per phase is too long for a demo.
  const defaults = demo ? { SIGNALBOX_ROLLOUT_SOAK_S: '5' } : {}
  await serve(parseConfig({ ...defaults, ...process.env }), demo)
}

async function serve(config: Config, demo: boolean): Promise<void> {
  // The reader of the output may be gone, or its disk full, which must interrupt neither the service nor its stop.
  process.stdout.on('error', () => {})
  // The simulated Junos devices of the demo call home to any port.
  const starting = startServer(demo ? { ...config, netconfPort: config.netconfPort ?? 0 } : config)
  saveMemory({ started: starting.then((running) => () => running.countLinks()) })
  const ending = new AbortController()
  const end = (code: number): void => {
    if (ending.signal.aborted) return
    ending.abort()
    setTimeout(() => process.exit(code || 1), SHUTDOWN_WITHIN_MS).unref()
    print('signalbox stopping')
    void stopInOrder(starting, performance.now() + STOP_WITHIN_MS).finally(() => process.exit(code))
  }
  // Not `once`: Ctrl-C arrives twice, from the terminal and from the runner, and the second signal must not interrupt
  // the first stop.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(0))
  // The runner died (even by kill -9), so this process must end too.
  process.once('disconnect', () => end(0))
  const running = await starting
  void running.failed.then((why) => {
    running.log.fatal(why)
    end(1)
  })
  try {
    if (demo) {
      // Loaded only for the demo.
      const { runDemo } = await import('../cli/demo.ts')
      await runDemo({ ...running, dataDir: config.dataDir, timePercent: config.demoTimePercent })
    }
  } catch (error) {
    if (ending.signal.aborted) return // The stop interrupted the demo.
    await running.stop()
    throw error
  }
  if (!ending.signal.aborted) print(`signalbox ready ${running.url}`)
}

/** A start in progress is allowed to finish, so that it can be stopped gracefully in the rest of the time. */
async function stopInOrder(starting: Promise<Running>, endMs: number): Promise<void> {
  const running = await starting
  await running.stop(Math.max(endMs - performance.now(), 0))
  print('signalbox stopped')
}

function printHelp(): void {
  const lines = describeSettings().map((line) => `  ${line}`)
  print(`Usage: npm start [-- --demo]

  --demo      an organization with three sites, sixty simulated devices, an SSR router and two edge appliances
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
