import type { Command } from 'commander'
import { CommandError } from '../exit-codes.ts'
import type { Session } from '../session.ts'

/** Adds commands to the program. `open` makes the session of the command that runs. */
export type AddCommands = (program: Command, open: (command: Command) => Session) => void

/** Collects an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

/** Parses the number of an option or argument. @throws CommandError usage. */
export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new CommandError('usage', `${JSON.stringify(text)} is not a whole number`)
}

/** Parses the number of an option that can't be zero. @throws CommandError usage. */
export function atLeastOne(text: string): number {
  const number = wholeNumber(text)
  if (number > 0) return number
  throw new CommandError('usage', `${JSON.stringify(text)} must be at least 1`)
}

/** Splits `name=value`. @throws CommandError usage. */
export function nameAndValue(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new CommandError('usage', `${JSON.stringify(text)} must be name=value`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Encodes the parameters that have a value. */
export function query(parameters: Readonly<Record<string, string | number | boolean | undefined>>): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) given.set(name, String(value))
  return given.size === 0 ? '' : `?${given.toString()}`
}
