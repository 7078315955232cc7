import { describe, expect, it } from 'vitest'
import { listCandidates, parseSearchDomains } from './search-domains.ts'

describe('parseSearchDomains', () => {
  it.each([
    ['', { domains: [], dots: 1 }],
    [
      'nameserver 10.0.0.1\nsearch a.test b.test.\noptions ndots:5 timeout:1',
      { domains: ['a.test', 'b.test'], dots: 5 },
    ],
    ['# search no.test\ndomain lab.test ; ours\noptions ndots:99', { domains: ['lab.test'], dots: 15 }],
    ['search a\ndomain b', { domains: ['b'], dots: 1 }],
    ['search 1 2 3 4 5 6 7 8', { domains: ['1', '2', '3', '4', '5', '6'], dots: 1 }],
    ['options ndots:x', { domains: [], dots: 1 }],
  ])('reads %j', (text, expected) => {
    expect(parseSearchDomains(text)).toEqual(expected)
  })
})

describe('listCandidates', () => {
  const search = { domains: ['a.test', 'b.test'], dots: 2 }
  it.each([
    ['hooks', ['hooks.a.test', 'hooks.b.test', 'hooks']],
    ['hooks.lan', ['hooks.lan.a.test', 'hooks.lan.b.test', 'hooks.lan']],
    ['x.hooks.lan', ['x.hooks.lan', 'x.hooks.lan.a.test', 'x.hooks.lan.b.test']],
    ['hooks.', ['hooks']],
  ])('completes %j', (name, expected) => {
    expect(listCandidates(name, search)).toEqual(expected)
  })
})
