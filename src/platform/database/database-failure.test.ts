import pg from 'pg'
import { expect, it } from 'vitest'
import { databaseFailure } from './database-failure.ts'

function refused(code: string): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('refused', 1, 'error'), { code })
}

it.each([
  ['53100', 'has no disk space left'],
  ['53200', 'has too little memory'],
  ['53300', 'has too many connections'],
  ['53400', 'has too few resources'],
  ['57P01', 'is being stopped or started'],
  ['57P03', 'is being stopped or started'],
  ['25006', 'accepts no changes'],
  ['08006', 'has closed the connection'],
  ['40001', 'is too busy'],
  ['57014', 'is too busy'],
  ['58030', 'has an error of its system'],
])('recognizes %s as a failure of the database', (code, why) => {
  expect(databaseFailure(refused(code))).toBe(why)
})

it.each(['22P02', '23505', '25P02', '42601', '55000', 'XX000'])('takes %s for an error of the statement', (code) => {
  expect(databaseFailure(refused(code))).toBeUndefined()
})

it('recognizes broken connections, and no other errors', () => {
  const withCode = (values: object) => Object.assign(new Error('failed'), values)
  for (const error of [
    new Error('Connection terminated unexpectedly'),
    new Error('Client has encountered a connection error and is not queryable'),
    new Error('timeout exceeded when trying to connect'),
    withCode({ code: 'ENOENT', syscall: 'connect' }),
    withCode({ code: 'ECONNRESET', syscall: 'read' }),
  ])
    expect(databaseFailure(error)).toBe('does not answer')
  for (const error of [
    new Error('unreachable: a defect'),
    new TypeError('x is not a function'),
    withCode({ code: 'ENOENT', syscall: 'open' }),
    withCode({ code: 'ECONNRESET' }),
    'a text',
  ])
    expect(databaseFailure(error)).toBeUndefined()
})
