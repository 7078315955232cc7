import { readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { messageOf } from '../src/platform/message-of.ts'

/**
 * The results of a measurement: figures by name, in snake_case with their unit; they may be nested. A list `failed`
 * that is not empty marks the measurement as failed.
 */
export type Figures = Readonly<Record<string, unknown>>

export type OptionValues = Readonly<Record<string, string | boolean | (string | boolean)[] | undefined>>

/** A measurement: a file in `bench/` or `soak/`. */
interface Measurement {
  /** The options that it accepts besides `--json`; none if absent. */
  readonly options?: ParseArgsOptionsConfig
  readonly run: (values: OptionValues) => Promise<Figures>
}

/**
 * Runs the measurement of `folder` that the command line names, prints its figures and ends the process. If the
 * measurement throws, the process ends with code 1.
 * @param folder The folder has the name of the command; every file in it except `run.ts` is a measurement.
 * @param kind The member of the printed JSON object that contains the measurement's name.
 */
export async function runMeasurement(folder: string, kind: string): Promise<never> {
  // The runner has died. Everything that a measurement has started ends when the channels of this process close.
  process.once('disconnect', () => process.exit(1))
  try {
    await main(folder, kind)
    process.exit(0)
  } catch (error) {
    console.error(`${basename(folder)}: ${messageOf(error)}`)
    process.exit(1)
  }
}

async function main(folder: string, kind: string): Promise<void> {
  const args = process.argv.slice(2)
  const [name = '', ...rest] = args.filter((arg) => arg !== '--json')
  const names = await listMeasurements(folder)
  if (!names.includes(name))
    throw new Error(
      `usage: npm run ${basename(folder)} -- NAME [--json] [OPTIONS], with NAME one of ${names.join(', ')}`,
    )
  const { run, options = {} } = (await import(join(folder, `${name}.ts`))) as Measurement
  const { values } = parseArgs({ args: rest, options: { ...options } })
  const figures = await run(values)
  for (const line of readable(figures)) console.log(line)
  if (args.includes('--json')) console.log(JSON.stringify({ [kind]: name, ...figures }))
  const { failed = [] } = figures
  if (Array.isArray(failed) && failed.length > 0) throw new Error(`${name} failed: ${failed.length} defects`)
}

async function listMeasurements(folder: string): Promise<string[]> {
  const files = await readdir(folder, { withFileTypes: true })
  return files
    .filter((file) => file.isFile() && file.name.endsWith('.ts') && !file.name.endsWith('.test.ts'))
    .map((file) => file.name.slice(0, -'.ts'.length))
    .filter((name) => name !== 'run')
    .sort()
}

/** @throws Error that names the option, unless its value is a whole number of at least 1. */
export function parseCount(values: OptionValues, name: string, byDefault: number): number {
  const text = values[name] ?? String(byDefault)
  const count = Number(text)
  if (typeof text === 'string' && /^[1-9]\d*$/.test(text) && Number.isSafeInteger(count)) return count
  throw new Error(`--${name} is ${JSON.stringify(text)}, but must be a whole number from 1`)
}

function readable(figures: Figures, prefix = ''): string[] {
  return Object.entries(figures).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? readable(Object.fromEntries(Object.entries(value)), `${prefix}${name}.`)
      : [`${prefix}${name}: ${JSON.stringify(value)}`],
  )
}
