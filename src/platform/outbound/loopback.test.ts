import { expect, test } from 'vitest'
import { servesLoopbackOnly } from './loopback.ts'

test.each([
  ['127.0.0.1', null, true],
  ['::1', 'http://[::1]:8080', true],
  ['localhost', 'https://localhost', true],
  ['127.0.0.1', 'https://nms.example.com', false],
  ['0.0.0.0', null, false],
  ['192.168.1.5', 'http://localhost:8080', false],
])('%s behind %s', (host, baseUrl, only) => {
  expect(servesLoopbackOnly(host, baseUrl)).toBe(only)
})
