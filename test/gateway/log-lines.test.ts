import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const pathOf = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url))

/** A call that logs a warning or an error, up to the text of its line, as far as that is the same each time. */
const logCalls = /\blog(?:\.warn|\.error|\[)[^]{0,200}?['`]((?=[^'`]* )[^'`$\n]{12,})/g

test('every warning and error of the gateway is explained in the manual for operators', () => {
  const manual = readFileSync(pathOf('docs/operations.md'), 'utf8').replaceAll(/\s+/g, ' ')
  const patterns = ['gateway/**/*.ts', 'platform/gather.ts', 'platform/poller.ts']
  const lines = globSync(patterns, { cwd: pathOf('src'), exclude: ['**/*.test.ts'] })
    .map((name) => readFileSync(pathOf(`src/${name}`), 'utf8'))
    .flatMap((source) => [...source.matchAll(logCalls)].map(([, line = '']) => line.trimEnd()))
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.filter((line) => !manual.includes(line))).toEqual([])
})
