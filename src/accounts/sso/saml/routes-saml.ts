import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type LoginThrottle, createLoginThrottle } from '../../../access/authentication/login-throttle.ts'
import { requesterOf } from '../../../http/connections/requester.ts'
import { replyWithError } from '../../../http/errors.ts'
import type { Context } from '../../../platform/context.ts'
import { html } from '../../html.ts'
import { type PageContent, page } from '../../pages.ts'
import type { AccountSettings } from '../../parts.ts'
import { cookieOptions, setSessionCookies } from '../../sessions/cookies.ts'
import { receiveLogout } from './receive-logout.ts'
import { receiveResponse } from './receive-response.ts'
import { SsoRefusal } from '../refusal.ts'
import { REQUEST_MS, isFlowCookie, generateFlowCookie, startLogin } from './start-login.ts'
import { AcsBody, DomainParams, LoginQuery, LogoutBody } from './wire-saml.ts'

export interface SamlParts {
  readonly settings: AccountSettings
  readonly throttle: LoginThrottle
}

const FLOW_COOKIE = 'saml_flow'
const MAX_FORM_BYTES = 256 * 1024

/** The pages at which browsers sign in and out through an identity provider, outside /api/v1. */
export function samlRoutes(ctx: Context, parts: SamlParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      (_request, text, done) => done(null, Object.fromEntries(new URLSearchParams(String(text)))),
    )
    http.setErrorHandler(sendRefusal)
    await http.register(loginRoutes(ctx, parts), { prefix: '/saml/:domain' })
    await http.register(logoutRoutes(ctx, parts), { prefix: '/saml/:domain' })
  }
}

function loginRoutes(ctx: Context, { settings, throttle }: SamlParts): FastifyPluginAsyncTypebox {
  // Each login that begins takes a row, and its caller is unknown.
  const starts = createLoginThrottle(ctx.clock)
  return async (http) => {
    http.get(
      '/login',
      { schema: { hide: true, params: DomainParams, querystring: LoginQuery } },
      async ({ params: { domain }, query, cookies, ip }, reply) => {
        starts.takeFrom(ip)
        // All tabs of a browser share the cookie, so that two logins at once don't break each other.
        const known = cookies[FLOW_COOKIE]
        const cookie = known !== undefined && isFlowCookie(known) ? known : generateFlowCookie()
        const address = await startLogin(ctx, settings, { domain, cookie, forward: query.forward ?? null })
        reply.setCookie(FLOW_COOKIE, cookie, {
          ...cookieOptions(ctx),
          path: '/saml',
          httpOnly: true,
          maxAge: REQUEST_MS / 1000,
        })
        return reply.header('cache-control', 'no-store').redirect(address, 302)
      },
    )

    http.post(
      '/acs',
      { bodyLimit: MAX_FORM_BYTES, schema: { hide: true, params: DomainParams, body: AcsBody } },
      async (request, reply) => {
        const { params, body, cookies } = request
        const cookie = cookies[FLOW_COOKIE]
        // Browsers don't send our cookie with a POST from another site, but do from a page of ours.
        if (cookie === undefined && body.again === undefined) return sendPage(reply, 200, resendPage(body.SAMLResponse))
        throttle.takeFrom(request.ip)
        const signedIn = await receiveResponse(ctx, settings, {
          domain: params.domain,
          encoded: body.SAMLResponse,
          cookie: cookie ?? null,
          from: requesterOf(request),
        })
        throttle.giveBackTo(request.ip)
        starts.giveBackTo(request.ip)
        setSessionCookies(ctx, reply, signedIn.opened)
        if (signedIn.forward !== null) return reply.redirect(signedIn.forward, 303)
        return sendPage(reply, 200, signedInPage(signedIn.secondFactorMissing))
      },
    )
  }
}

function logoutRoutes(ctx: Context, { throttle }: SamlParts): FastifyPluginAsyncTypebox {
  return async (http) => {
    // Identity providers redirect here after a logout. It changes nothing.
    http.get('/logout', { schema: { hide: true, params: DomainParams } }, async (_request, reply) =>
      sendPage(reply, 200, signedOutPage()),
    )

    http.post(
      '/logout',
      { bodyLimit: MAX_FORM_BYTES, schema: { hide: true, params: DomainParams, body: LogoutBody } },
      async (request, reply) => {
        const { SAMLRequest: encoded } = request.body
        if (encoded === undefined) return sendPage(reply, 200, signedOutPage())
        throttle.takeFrom(request.ip)
        await receiveLogout(ctx, { domain: request.params.domain, encoded, from: requesterOf(request) })
        throttle.giveBackTo(request.ip)
        return sendPage(reply, 200, signedOutPage())
      },
    )
  }
}

/**
 * Shows a page without the reason, which only the organization's administrators see: the sender may have forged the
 * message.
 */
function sendRefusal(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (!(error instanceof SsoRefusal)) {
    replyWithError(error, request, reply)
    return
  }
  const body = html`<p>Your organization's sign-in was refused.</p>
    <p>Try again. If it goes on, tell an administrator: the reason is among the failures of the SSO.</p>`
  void sendPage(reply, 400, { title: 'Could not sign in', body })
}

function sendPage(reply: FastifyReply, status: number, content: PageContent): FastifyReply {
  const { headers, html: markup } = page(content)
  return reply.code(status).headers(headers).send(markup)
}

function resendPage(encoded: string): PageContent {
  return {
    title: 'Signing in',
    body: html`<form method="post" action="">
      <input type="hidden" name="SAMLResponse" value="${encoded}" />
      <input type="hidden" name="again" value="1" />
      <p><button type="submit">Go on</button></p>
    </form>`,
    script: `document.querySelector('form').submit()`,
    submits: true,
  }
}

function signedInPage(secondFactorMissing: boolean): PageContent {
  const body = secondFactorMissing
    ? html`<p>Your code is still needed.</p>`
    : html`<p>You may go back to what you came for.</p>`
  return { title: 'You are signed in', body }
}

function signedOutPage(): PageContent {
  return { title: 'You are signed out', body: html`<p>You may close this page.</p>` }
}
