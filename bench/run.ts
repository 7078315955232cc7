import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a benchmark measured: figures by name, in snake_case with their unit; may be nested. */
type Figures = Record<string, unknown>

async function main(): Promise<void> {
  const args = process.argv.slice(2)
  const name = args.find((arg) => arg !== '--json') ?? ''
  const names = await benchmarks()
  if (!names.includes(name) || args.filter((arg) => arg !== '--json').length !== 1)
    throw new Error(`usage: npm run bench -- NAME [--json], with NAME one of ${names.join(', ')}`)
  const { run } = (await import(`./${name}.ts`)) as { run: () => Promise<Figures> }
  const figures = await run()
  for (const line of readable(figures)) console.log(line)
  if (args.includes('--json')) console.log(JSON.stringify({ benchmark: name, ...figures }))
}

/** Every file beside this one is a benchmark. */
async function benchmarks(): Promise<string[]> {
  const files = await readdir(dirname(import.meta.filename), { withFileTypes: true })
  return files
    .filter((file) => file.isFile() && file.name.endsWith('.ts') && !file.name.endsWith('.test.ts'))
    .map((file) => file.name.slice(0, -'.ts'.length))
    .filter((name) => join(import.meta.dirname, `${name}.ts`) !== import.meta.filename)
    .sort()
}

function readable(figures: Figures, prefix = ''): string[] {
  return Object.entries(figures).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? readable(Object.fromEntries(Object.entries(value)), `${prefix}${name}.`)
      : [`${prefix}${name}: ${JSON.stringify(value)}`],
  )
}

// The runner died: what a benchmark has started dies with this process's channels.
process.once('disconnect', () => process.exit(1))

try {
  await main()
  process.exit(0)
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : String(error)}`)
  process.exit(1)
}
