import { describe, expect, it } from 'vitest'
import { parseCallable } from './assert-callable.ts'

describe('an address that the service calls', () => {
  it.each(['http://hooks.example.com/a?b=c', ' https://hooks.example.com:8443/ ', 'http://hooks.example.com/a\n'])(
    'may be %j',
    (url) => {
      expect(parseCallable('url', url).hostname).toBe('hooks.example.com')
    },
  )

  it.each([
    ['http://hooks.exam\tple.com/', 'may not contain line breaks, tabs or other control characters'],
    ['http://hooks.example.com/a\r\nX-A: b', 'may not contain line breaks, tabs or other control characters'],
    ['http://hooks.example.com/\u007f', 'may not contain line breaks, tabs or other control characters'],
    ['http://user:password@hooks.example.com/', 'may not contain a user name or password: use headers'],
    ['ftp://hooks.example.com/', 'must be an address of the form http://... or https://...'],
  ])('may not be %j', (url, reason) => {
    expect(() => parseCallable('url', url, ': use headers')).toThrow(`Invalid field url: ${reason}`)
  })
})
