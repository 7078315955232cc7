import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const pathOf = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url))

/** Matches a call that logs a warning or an error, with the constant beginning of its message. */
const logCalls = /\blog(?:\.warn|\.error|\[)[^]{0,200}?['`]((?=[^'`]* )[^'`$\n]{12,})/g

test('the operations manual explains every warning and error of the gateway', () => {
  const manual = readFileSync(pathOf('docs/operations.md'), 'utf8').replaceAll(/\s+/g, ' ')
  const patterns = ['gateway/**/*.ts', 'platform/queues/gather.ts', 'platform/time/poller.ts']
  const lines = globSync(patterns, { cwd: pathOf('src'), exclude: ['**/*.test.ts'] })
    .map((name) => readFileSync(pathOf(`src/${name}`), 'utf8'))
    .flatMap((source) => [...source.matchAll(logCalls)].map(([, line = '']) => line.trimEnd()))
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.filter((line) => !manual.includes(line))).toEqual([])
})
