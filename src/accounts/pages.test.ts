import { expect, it } from 'vitest'
import { html } from './html.ts'
import { page } from './pages.ts'

it('escapes its title and keeps its body', () => {
  const { html: text } = page({ title: '<i>', body: html`<p>${'<b>'}</p>` })
  expect(text).toContain('<title>&lt;i&gt;</title>')
  expect(text).toMatch(/<h1>&lt;i&gt;<\/h1>\s*<p>&lt;b&gt;<\/p>/)
})

it('has no script unless one is given', () => {
  expect(page({ title: 'T', body: html`` }).html).not.toContain('<script')
})

it('allows only what carries its nonce, and generates a new nonce each time', () => {
  const nonces = Array.from({ length: 20 }, () => {
    const { html: text, headers } = page({ title: 'T', body: html``, script: 'run()' })
    const nonce = /<script nonce="([^"]+)">run\(\)<\/script>/.exec(text)?.[1] ?? ''
    const policy = headers['content-security-policy'] ?? ''
    expect(policy.split('; ')).toEqual([
      "default-src 'none'",
      `style-src 'nonce-${nonce}'`,
      `script-src 'nonce-${nonce}'`,
      "connect-src 'self'",
      "form-action 'none'",
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ])
    return nonce
  })
  expect(new Set(nonces).size).toBe(20)
  expect(nonces.every((nonce) => nonce.length >= 22)).toBe(true)
})
