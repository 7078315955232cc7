import { expect, test } from 'vitest'
import { explainExit } from './postmaster.ts'

test('the end of a server that could not recover from a full disk has its reason', () => {
  const lines = [
    'PANIC:  could not write to file "pg_wal/xlogtemp.16983": No space left on device',
    'LOG:  WAL writer process (PID 16983) was terminated by signal 6: Aborted',
    'FATAL:  could not extend file "base/16385/17399": No space left on device',
    'FATAL:  the database system is not yet accepting connections',
    'LOG:  aborting startup due to startup process failure',
  ]
  expect(explainExit({ code: 1, signal: null, lines })).toBe(lines[2])
})

test('lines about sessions do not explain the end of the server', () => {
  const lines = ['FATAL:  terminating connection due to administrator command']
  expect(explainExit({ code: 0, signal: null, lines })).toBe('code 0')
  expect(explainExit({ code: null, signal: 'SIGKILL', lines })).toBe('signal SIGKILL')
  expect(explainExit({ code: 1, signal: null, lines: ['FATAL:  the database system is starting up'] })).toBe('code 1')
})
