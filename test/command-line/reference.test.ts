import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { exitCodes } from '../../src/client/exit-codes.ts'
import { createProgram } from '../../src/client/program.ts'

const program = createProgram({
  terminal: { stdout: process.stdout, stderr: process.stderr },
  env: {},
  interrupted: new AbortController().signal,
  opened: [],
})

function optionsOf({ options }: Command): string[] {
  return options.map(({ flags, description, defaultValue, mandatory }) => {
    const value = defaultValue === undefined ? '' : ` (default \`${String(defaultValue)}\`)`
    return `- \`${flags}\`: ${description}${value}${mandatory ? '; required' : ''}`
  })
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}

function sectionsOf(command: Command, path: readonly string[]): string[] {
  if (command.commands.length > 0) return command.commands.flatMap((each) => sectionsOf(each, [...path, each.name()]))
  const usage = [
    ...path,
    ...command.registeredArguments.map((argument) => `<${argument.name()}${argument.variadic ? '...' : ''}>`),
  ].join(' ')
  return [
    '',
    `## ${usage}`,
    '',
    sentence(command.description()),
    ...['', ...optionsOf(command)].slice(0, command.options.length + 1),
  ]
}

it('has a manual page that lists every command', async () => {
  const page = [
    '# Commands of signalbox',
    '',
    'This page is made from the program. [The command line](command-line.md) says how to begin.',
    '',
    '## Everywhere',
    '',
    ...optionsOf(program),
    '',
    '## Exit codes',
    '',
    ...Object.values(exitCodes).map(({ code, meaning }) => `- ${code}: ${meaning}`),
    ...sectionsOf(program, ['signalbox']),
    '',
  ].join('\n')
  await expect(page.replaceAll(/\n{3,}/g, '\n\n')).toMatchFileSnapshot('../../docs/commands.md')
})
