import { describe, expect, it } from 'vitest'
import { decodeRequest } from './decode-request.ts'

describe('a request to the stream', () => {
  it('subscribes, and may name the last message that the client has', () => {
    expect(decodeRequest('{"subscribe": "/sites/1/devices"}')).toEqual({
      kind: 'subscribe',
      channel: '/sites/1/devices',
      after: null,
    })
    expect(decodeRequest('{"subscribe": "/x", "after": 17}')).toMatchObject({ kind: 'subscribe', after: 17 })
  })

  it('unsubscribes', () => {
    expect(decodeRequest('{"unsubscribe": "/x"}')).toEqual({ kind: 'unsubscribe', channel: '/x' })
  })

  it('asks for an answer', () => {
    expect(decodeRequest('{"ping": true}')).toEqual({ kind: 'ping' })
  })

  it.each([
    ['', 'A message must be a JSON object'],
    ['[]', 'A message must be a JSON object'],
    ['null', 'A message must be a JSON object'],
    ['{}', 'A message must have one of subscribe, unsubscribe and ping'],
    ['{"subscribe": "/x", "unsubscribe": "/x"}', 'A message must have one of subscribe, unsubscribe and ping'],
    ['{"subscribe": "/x", "ping": true}', 'A message must have one of subscribe, unsubscribe and ping'],
    ['{"ping": 1}', 'ping must be true'],
    ['{"ping": true, "after": 1}', 'Only subscribe takes after'],
    ['{"subscribe": 1}', 'A channel must be a text of at most 300 characters'],
    [JSON.stringify({ subscribe: 'x'.repeat(301) }), 'A channel must be a text of at most 300 characters'],
    ['{"subscribe": "/x", "after": 1.5}', 'after must be the seq of a message'],
    ['{"unsubscribe": "/x", "after": 1}', 'Only subscribe takes after'],
    ['{"subscribe": "/x", "since": 1}', 'Unknown member since'],
  ])('is refused: %s', (text, why) => {
    expect(decodeRequest(text)).toEqual({ kind: 'malformed', why })
  })
})
