import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, it, vi } from 'vitest'
import { replyWithError } from './errors.ts'

it('logs a failure of the database with the id of the request', () => {
  const log = { error: vi.fn() }
  const reply = { code: vi.fn(() => reply), header: vi.fn(() => reply), send: vi.fn(() => reply) }
  const request = { id: 'r1', log, routeOptions: { config: {} } } as unknown as FastifyRequest
  const error = new Error('Connection terminated unexpectedly')
  replyWithError(error, request, reply as unknown as FastifyReply)
  expect(reply.code).toHaveBeenCalledWith(503)
  expect(reply.send).toHaveBeenCalledWith({ detail: 'The database does not answer. Please try again later.' })
  expect(log.error.mock.calls).toEqual([
    [{ requestId: 'r1', err: error }, 'a request was refused: the database failed'],
  ])
})
