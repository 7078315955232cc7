import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { describeSettings } from '../../src/app/config/config.ts'
import { alarms } from '../../src/events/alarms/alarm-types.ts'
import { systemEvents } from '../../src/events/system-event-types.ts'
import { strategies } from '../../src/upgrades/strategies/index.ts'
import { webhookTypes } from '../../src/webhooks/types/index.ts'

const pathOf = (relative: string): string => fileURLToPath(new URL(`../../${relative}`, import.meta.url))

/** Matches a call that logs a warning or an error, with the constant beginning of its message. */
const logCalls = /\blog(?:\.warn|\.error|\[)[^]{0,200}?(["'`])([A-Za-z](?=[^"'`\n]* )(?:(?!\1)[^$\n]){11,})/g

/** Programs that print their own messages, which the manual of the server does not have to explain. */
const programs = ['agent', 'cli', 'client', 'simulator']

describe('the operations manual explains', () => {
  const manual = readFileSync(pathOf('docs/operations.md'), 'utf8').replaceAll(/\s+/g, ' ')
  const sources = globSync('**/*.ts', { cwd: pathOf('src'), exclude: ['**/*.test.ts', ...programs] }).map((name) =>
    readFileSync(pathOf(`src/${name}`), 'utf8'),
  )

  test('every warning and error of the service', () => {
    const lines = sources.flatMap((source) => [...source.matchAll(logCalls)].map(([, , line = '']) => line.trimEnd()))
    expect(lines.length).toBeGreaterThan(60)
    expect(lines.filter((line) => !manual.includes(line))).toEqual([])
  })

  test('every setting', () => {
    const names = describeSettings().map((line) => line.slice(0, line.indexOf(' ')))
    expect(names.filter((name) => !manual.includes(`\`${name}\``))).toEqual([])
  })

  test('every alarm and every event of the service', () => {
    const names = [...Object.keys(alarms), ...Object.keys(systemEvents)]
    expect(names.filter((name) => !manual.includes(`\`${name}\``))).toEqual([])
  })

  test('every metric', () => {
    const names = sources.flatMap((source) => [...source.matchAll(/name: '(signalbox_\w+)'/g)].map(([, name]) => name))
    expect(names.length).toBeGreaterThan(10)
    expect(names.filter((name) => !manual.includes(`\`${name}\``))).toEqual([])
  })
})

describe.each([
  ['docs/upgrades.md', 'strategy', Object.keys(strategies)],
  ['docs/webhooks.md', 'type of receivers', webhookTypes],
] as const)('%s explains', (name, what, names) => {
  const text = readFileSync(pathOf(name), 'utf8')

  test(`every ${what}`, () => expect(names.filter((one) => !text.includes(`\`${one}\``))).toEqual([]))
})
