import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { runSignalbox } from './run-signalbox.ts'

it.each([
  ['', 'The answer has no reason'],
  ['<h1>Bad Gateway</h1>', 'The answer has no reason, but is "<h1>Bad Gateway</h1>"'],
])('a refusal by a proxy begins with a sentence: %j', async (body, reason) => {
  const proxy = createServer((_request, response) => response.writeHead(502).end(body)).listen(0, '127.0.0.1')
  onTestFinished(() => void proxy.close())
  await once(proxy, 'listening')
  const { port } = proxy.address() as AddressInfo
  const { code, err } = await runSignalbox({ url: `http://127.0.0.1:${port}`, token: 'any' }, ['whoami'])
  expect({ code, err }).toEqual({ code: 5, err: expect.stringMatching(/^signalbox: .* \(GET [^ ]+: 502\)\n$/) })
  expect(err.startsWith(`signalbox: ${reason} (`)).toBe(true)
})

it('a page instead of an answer is no empty list', async () => {
  const portal = createServer((_request, response) => response.end('<!DOCTYPE html><p>Welcome')).listen(0, '127.0.0.1')
  onTestFinished(() => void portal.close())
  await once(portal, 'listening')
  const { port } = portal.address() as AddressInfo
  const { code, err } = await runSignalbox({ url: `http://127.0.0.1:${port}`, token: 'any' }, ['orgs'])
  expect({ code, err }).toEqual({
    code: 5,
    err: expect.stringMatching(/^signalbox: The answer is a page, .* \(GET .*\)\n$/),
  })
})
