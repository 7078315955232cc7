import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openBrowser } from '../oauth/browser.ts'
import { type TestServer, startTestServer } from '../support/servers/server.ts'
import { type IdentityProvider, makeKeys, startIdentityProvider } from './identity-provider.ts'
import { type TestSso, type Visit, addSso, beginLogin, failuresOf, post, present, selfOf, signIn } from './world.ts'
import { createOffsetClock } from '../support/test-clock.ts'

const clock = createOffsetClock()
let idp: IdentityProvider
let server: TestServer
let sso: TestSso
beforeAll(async () => {
  idp = await startIdentityProvider()
  server = await startTestServer(clock)
  sso = await addSso(server, idp)
})
beforeEach(() => {
  // Another test covers the limit of failed attempts of an address.
  clock.offsetMs += 61_000
})
afterAll(async () => {
  await server.close()
  await idp.close()
})

const mallory = { nameId: 'mallory@corp.example', attributes: { Role: 'reader' } }

/** A person whom the identity provider would never name. */
const victim = 'ceo@corp.example'

async function expectRefused(visit: Visit, xml: string, why: RegExp, at = sso): Promise<void> {
  const accounts = await countAdmins()
  const page = await present(visit.browser, at.acsUrl, xml)
  expect(page).toMatchObject({ status: 400, text: expect.stringContaining('refused') })
  expect(await selfOf(visit.browser, server)).toBeUndefined()
  expect((await failuresOf(server, at))[0]).toMatch(why)
  expect(await countAdmins()).toBe(accounts)
}

async function countAdmins(): Promise<number> {
  return (await server.ctx.db.selectFrom('admin').select('id').execute()).length
}

const assertionOf = (xml: string): string => /<saml:Assertion[\s\S]*<\/saml:Assertion>/.exec(xml)?.[0] ?? ''
const signatureOf = (xml: string): string => /<Signature[\s\S]*<\/Signature>/.exec(xml)?.[0] ?? ''

/** The assertion with another subject, another id and no signature. */
function forge(assertion: string): string {
  return assertion
    .replace(signatureOf(assertion), '')
    .replace(/ ID="[^"]*"/, ' ID="_forged"')
    .replaceAll(mallory.nameId, victim)
}

describe('signature wrapping', () => {
  const variants: Record<string, (xml: string) => string> = {
    'a forged assertion before the signed one': (xml) => {
      const real = assertionOf(xml)
      return xml.replace(real, forge(real) + real)
    },
    'a forged assertion after the signed one': (xml) => {
      const real = assertionOf(xml)
      return xml.replace(real, real + forge(real))
    },
    'a forged assertion around the signed one': (xml) => {
      const real = assertionOf(xml)
      return xml.replace(real, forge(real).replace('</saml:Assertion>', `${real}</saml:Assertion>`))
    },
    'a forged assertion with the signature, the signed one inside the signature': (xml) => {
      const real = assertionOf(xml)
      const signature = signatureOf(real)
      const object = `<Object>${real.replace(signature, '')}</Object></Signature>`
      const wrapping = signature.replace('</Signature>', object)
      return xml.replace(real, forge(real).replace('</saml:Issuer>', `</saml:Issuer>${wrapping}`))
    },
    'the signed assertion in an extension': (xml) => {
      const real = assertionOf(xml)
      const extension = `<samlp:Extensions>${real}</samlp:Extensions>`
      return xml.replace(real, forge(real)).replace('<samlp:Status>', `${extension}<samlp:Status>`)
    },
    'two elements with the signed id': (xml) => {
      const real = assertionOf(xml)
      const id = / ID="([^"]*)"/.exec(real)?.[1] ?? ''
      return xml.replace(real, forge(real).replace('_forged', id) + real)
    },
    'the signature moved to the response': (xml) => {
      const real = assertionOf(xml)
      const signature = signatureOf(real)
      return xml.replace(real, forge(real)).replace('<samlp:Status>', `${signature}<samlp:Status>`)
    },
    'a changed subject': (xml) => xml.replaceAll(mallory.nameId, victim),
    'a changed role': (xml) => xml.replace('>reader<', '>admin<'),
    'the signature taken away': (xml) => xml.replace(signatureOf(xml), ''),
  }

  it.each(Object.entries(variants))('signs nobody in: %s', async (_name, change) => {
    const visit = await beginLogin(idp, sso)
    const xml = await idp.respond(visit.request, mallory)
    const changed = change(xml)
    expect(changed).not.toBe(xml)
    await expectRefused(visit, changed, /signature|Signature|assertion/)
  })

  it('accepts the same response without a change, so only the change is refused', async () => {
    const visit = await beginLogin(idp, sso)
    const page = await present(visit.browser, sso.acsUrl, await idp.respond(visit.request, mallory))
    expect(page.status).toBe(200)
  })
})

describe('messages that are not signed correctly', () => {
  it('are refused without any signature', async () => {
    const visit = await beginLogin(idp, sso)
    await expectRefused(visit, await idp.respond(visit.request, mallory, { signAssertion: false }), /signature/)
  })

  it("are refused with another signer's signature, whose certificate is in the message", async () => {
    const visit = await beginLogin(idp, sso)
    await expectRefused(visit, await idp.respond(visit.request, mallory, { ...(await makeKeys()) }), /signature/)
  })

  it('are refused with SHA-1 unless the SSO allows it', async () => {
    const sha1 = { signatureAlgorithm: 'rsa-sha1', digestAlgorithm: 'sha1' }
    const visit = await beginLogin(idp, sso)
    await expectRefused(visit, await idp.respond(visit.request, mallory, sha1), /weaker than/)
    const old = await addSso(server, idp, { org: await server.addOrg(), fields: { idp_sign_algo: 'sha1' } })
    const other = await beginLogin(idp, old)
    const page = await present(other.browser, old.acsUrl, await idp.respond(other.request, mallory, sha1))
    expect(page.status).toBe(200)
  })

  it('are refused with an encrypted assertion, which the service could not decrypt', async () => {
    const visit = await beginLogin(idp, sso)
    const { cert, key } = idp.keys
    const change = { encryptionPublicKey: cert, encryptionCert: cert, key }
    await expectRefused(visit, await idp.respond(visit.request, mallory, change), /is encrypted/)
  })
})

describe('messages for another recipient or another time', () => {
  it.each([
    ['another audience', { audience: 'https://other.example' }, /audience/],
    ['another recipient', { recipient: 'https://other.example/acs' }, /recipient/],
    ['another destination', { destination: 'https://other.example/acs' }, /destination/],
    ['another issuer', { issuer: 'https://other.example/idp' }, /issuer/],
    ['an unknown request', { inResponseTo: '_deadbeef' }, /answers no request/],
    ['no request at all', { inResponseTo: undefined }, /to which request/],
    ['no audience', { audience: undefined }, /lacks a required element|AudienceRestriction/],
  ])('are refused: %s', async (_name, change, why) => {
    const visit = await beginLogin(idp, sso)
    await expectRefused(visit, await idp.respond(visit.request, mallory, change), why)
  })

  it('are refused after the assertion has expired by our clock, and before it is valid', async () => {
    for (const ms of [300_000 + 121_000, -3600e3]) {
      const visit = await beginLogin(idp, sso)
      const xml = await idp.respond(visit.request, mallory, { lifetimeInSeconds: 300 })
      const before = clock.offsetMs
      // The clock of the identity provider has not moved.
      clock.offsetMs = ms
      await expectRefused(visit, xml, ms > 0 ? /expired/ : /not valid before/)
      clock.offsetMs = before
    }
  })

  it('are refused in answer to a request that is too old', async () => {
    const visit = await beginLogin(idp, sso)
    clock.offsetMs += 16 * 60_000
    await expectRefused(visit, await idp.respond(visit.request, mallory), /too old/)
  })

  it('are refused when the assertion is replayed, in the same browser or in another', async () => {
    const visit = await beginLogin(idp, sso)
    const xml = await idp.respond(visit.request, mallory)
    expect((await present(visit.browser, sso.acsUrl, xml)).status).toBe(200)
    const accounts = await countAdmins()
    expect((await present(visit.browser, sso.acsUrl, xml)).status).toBe(400)
    await expectRefused(await beginLogin(idp, sso), xml, /used before/)
    expect(await countAdmins()).toBe(accounts)
  })

  it('sign in only once if an assertion comes many times at once', async () => {
    const visit = await beginLogin(idp, sso)
    const xml = await idp.respond(visit.request, mallory)
    const pages = await Promise.all(Array.from({ length: 5 }, () => present(visit.browser, sso.acsUrl, xml)))
    expect(pages.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  it("are refused in answer to another browser's request", async () => {
    const mine = await beginLogin(idp, sso)
    const theirs = await beginLogin(idp, sso)
    const xml = await idp.respond(mine.request, mallory)
    await expectRefused(theirs, xml, /Another browser/)
    await expectRefused(mine, xml, /used before/)
    const without = await beginLogin(idp, sso)
    const answer = await idp.respond(without.request, mallory)
    await expectRefused({ ...without, browser: openBrowser() }, answer, /Another browser/)
  })

  it.each(['', 'short', 'x'.repeat(43)])(
    'refuses an answer that a browser with the cookie %j asked for',
    async (value) => {
      const mine = openBrowser()
      const { location } = await mine.open(sso.loginUrl, { headers: { cookie: `saml_flow=${value}` } })
      const xml = await idp.respond(await idp.readRequest(location ?? ''), mallory)
      const theirs = { browser: openBrowser(), request: await idp.readRequest(location ?? '') }
      await expectRefused(theirs, xml, /Another browser/)
    },
  )
})

describe('another organization', () => {
  it("can't be reached through an identity provider that both trust", async () => {
    const org = await server.addOrg()
    const other = await addSso(server, idp, { org })
    const visit = await beginLogin(idp, sso)
    const xml = await idp.respond(visit.request, mallory)
    await expectRefused(visit, xml, /destination/, other)
    const moved = await idp.respond(visit.request, mallory, { destination: other.acsUrl })
    await expectRefused(visit, moved, /audience/, other)
    const aimed = { destination: other.acsUrl, recipient: other.acsUrl, audience: other.entityId }
    await expectRefused(visit, await idp.respond(visit.request, mallory, aimed), /answers no request/, other)
  })

  it('has an account of its own for the same subject, without a privilege elsewhere', async () => {
    const org = await server.addOrg()
    const other = await addSso(server, idp, { org })
    const here = await selfOf(await signIn(idp, sso, mallory), server)
    const there = await selfOf(await signIn(idp, other, { ...mallory, attributes: { Role: 'admin' } }), server)
    expect(here.admin_id).not.toBe(there.admin_id)
    expect(there.privileges).toEqual([expect.objectContaining({ org_id: org.orgId })])
    expect(here.privileges).toEqual([expect.objectContaining({ org_id: server.org.orgId, role: 'read' })])
  })
})

describe('malicious names and documents', () => {
  it('are read with the whole NameID despite a comment in it', async () => {
    const name = `${victim}.evil.example`
    const visit = await beginLogin(idp, sso)
    const xml = await idp.respond(visit.request, { ...mallory, nameId: name })
    const commented = xml.replace(`>${name}<`, `>${victim}<!-- -->.evil.example<`)
    expect(commented).not.toBe(xml)
    const page = await present(visit.browser, sso.acsUrl, commented)
    // The signature does not cover comments, so it is valid; the person who is signed in matters.
    expect(page.status).toBe(200)
    expect(await selfOf(visit.browser, server)).toMatchObject({ email: name })
    expect(await server.ctx.db.selectFrom('admin').select('id').where('email', '=', victim).execute()).toEqual([])
  })

  it('are refused with document types or entities before parsing', async () => {
    const bombs = [
      '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;">]>',
      '<!DOCTYPE a SYSTEM "file:///etc/passwd">',
      '<!DOCTYPE a [<!ENTITY b SYSTEM "http://127.0.0.1:9/">]>',
    ]
    for (const bomb of bombs) {
      const visit = await beginLogin(idp, sso)
      const xml = await idp.respond(visit.request, mallory)
      await expectRefused(visit, bomb + xml, /document type/)
    }
  })

  it('are refused quickly if they are too large, too deep, or not XML', async () => {
    const visit = await beginLogin(idp, sso)
    const start = performance.now()
    const fillers = [
      ['x'.repeat(140_000), /larger/],
      ['<a>'.repeat(5000), /too many elements/],
      ['<samlp:Response>'.repeat(3000), /./],
      ['no xml', /./],
      ['<a/>', /must be a Response/],
      ['<Response/>', /./],
    ] as const
    for (const [xml, why] of fillers) await expectRefused(visit, xml, why)
    expect(performance.now() - start).toBeLessThan(10_000)
    const huge = await present(visit.browser, sso.acsUrl, 'x'.repeat(300_000))
    expect(huge.status).toBe(413)
  })

  it('are refused in malformed forms', async () => {
    const browser = openBrowser()
    for (const fields of [{}, { SAMLResponse: '' }, { SAMLResponse: '<script>' }])
      expect((await post(browser, sso.acsUrl, fields)).status).toBe(400)
    expect((await present(browser, `${server.url}/saml/unknown/acs`, '<a/>')).status).toBe(404)
  })
})

describe('endless attempts', () => {
  it('to begin a login are limited for each address, and successful ones do not count', async () => {
    const begin = async () => (await openBrowser().open(sso.loginUrl)).status
    await signIn(idp, sso, mallory)
    for (let tries = 0; tries < 30; tries += 1) expect(await begin()).toBe(302)
    expect(await begin()).toBe(429)
    clock.offsetMs += 61_000
    expect(await begin()).toBe(302)
  })

  it('are limited for each address, and so are the stored failures', async () => {
    const visit = await beginLogin(idp, sso)
    const statuses: number[] = []
    for (let tries = 0; tries < 32; tries += 1) statuses.push((await present(visit.browser, sso.acsUrl, '<a/>')).status)
    expect(statuses.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 400))
    expect(statuses.slice(30)).toEqual([429, 429])
    for (let minute = 0; minute < 4; minute += 1) {
      clock.offsetMs += 61_000
      for (let tries = 0; tries < 30; tries += 1) await present(visit.browser, sso.acsUrl, '<a/>')
    }
    const rows = await server.ctx.db.selectFrom('ssoFailure').select('id').where('ssoId', '=', sso.id).execute()
    expect(rows).toHaveLength(100)
  })
})
