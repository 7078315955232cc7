import { type Command, InvalidArgumentError } from 'commander'
import type { Session } from '../session.ts'

/** Adds commands to the program. `open` makes the session of the command that runs. */
export type AddCommands = (program: Command, open: (command: Command) => Session) => void

/** Collects an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Parses the number of an option. @throws InvalidArgumentError; Commander adds the name of the option. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number.')
}

/** Parses numbers with commas between them. @throws InvalidArgumentError */
export function wholeNumbers(text: string): readonly number[] {
  return text.split(',').map((number) => wholeNumber(number.trim()))
}

/** Parses the number of an option that can't be zero. @throws InvalidArgumentError */
export function atLeastOne(text: string): number {
  const number = wholeNumber(text)
  if (number > 0) return number
  throw new InvalidArgumentError('It must be at least 1.')
}

/** The `name=value` of an option. */
export type Pair = readonly [name: string, value: string]

/** Collects the `name=value` of an option that may be given several times. @throws InvalidArgumentError */
export function collectPairs(text: string, before: readonly Pair[] = []): readonly Pair[] {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('It must be name=value.')
  return [...before, [text.slice(0, at), text.slice(at + 1)]]
}

/** Encodes the parameters that have a value. */
export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given.toString()}`
}
