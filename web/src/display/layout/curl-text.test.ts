import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { curlText } from './curl-text.ts'

/** Returns the arguments that a shell passes to curl. */
function argumentsOf(command: string): readonly string[] {
  const printed = execFileSync('/bin/sh', ['-c', command.replace(/^curl/, 'printf "%s\\n"')], {
    env: { API_TOKEN: 'secret', OPERATOR_KEY: 'key' },
    encoding: 'utf8',
  })
  return printed.trimEnd().split('\n')
}

it('reads a page', () => {
  expect(argumentsOf(curlText('http://host', { path: '/self?a=1&b=$HOME' }))).toEqual([
    '-H',
    'Authorization: Token secret',
    'http://host/api/v1/self?a=1&b=$HOME',
  ])
})

it('calls for the operator', () => {
  expect(argumentsOf(curlText('http://host', { path: '/status', by: 'operator' }))).toEqual([
    '-H',
    'Authorization: Operator key',
    'http://host/operator/v1/status',
  ])
})

it('sends a body unchanged', () => {
  const body = { name: "it's `here` $HOME" }
  expect(argumentsOf(curlText('http://host', { path: '/x', body })).slice(2, 6)).toEqual([
    '-H',
    'Content-Type: application/json',
    '-d',
    JSON.stringify(body),
  ])
})
