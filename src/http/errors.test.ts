import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, it, vi } from 'vitest'
import { replyWithError } from './errors.ts'

const failed = (code: string, syscall?: string): Error =>
  Object.assign(new Error(`${code}: failed`), { code, ...(syscall !== undefined && { syscall }) })

it.each([
  [
    'a failure of the database',
    new Error('Connection terminated unexpectedly'),
    [503, 'The database does not answer. Please try again later.', 'a request was refused: the database failed'],
  ],
  [
    'a disk that became read-only',
    failed('EROFS', 'open'),
    [
      503,
      "The server can't use its files (EROFS). Please try again later.",
      'a request was refused: the system failed',
    ],
  ],
  ['a missing file', failed('ENOENT', 'open'), [500, 'Internal error, request r1.', 'request failed']],
  ['an error of no system call', failed('EAGAIN'), [500, 'Internal error, request r1.', 'request failed']],
])('logs %s with the id of the request', (_, error, [status, detail, line]) => {
  const log = { error: vi.fn() }
  const reply = { code: vi.fn(() => reply), header: vi.fn(() => reply), send: vi.fn(() => reply) }
  const request = { id: 'r1', log, routeOptions: { config: {} } } as unknown as FastifyRequest
  replyWithError(error, request, reply as unknown as FastifyReply)
  expect(reply.code).toHaveBeenCalledWith(status)
  expect(reply.send).toHaveBeenCalledWith({ detail })
  expect(log.error.mock.calls).toEqual([[{ requestId: 'r1', err: error }, line]])
})
