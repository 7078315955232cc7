import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../access/authorize.ts'
import { createLoginThrottle } from '../../access/authentication/login-throttle.ts'
import { type At, at, nobody } from '../../http/at.ts'
import { type Operation, operation } from '../../http/operation.ts'
import { requesterOf } from '../../http/connections/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { type Person, person, requirePerson } from '../self/person.ts'
import { proveRecently } from '../self/prove-recently.ts'
import { cookieOptions, setSessionCookies } from '../sessions/cookies.ts'
import { LoginReply, presentLogin } from '../sessions/wire.ts'
import { bindingOfCaller, bindingOfCookie } from './flows/binding.ts'
import { FLOW_MS } from './flows/flow.ts'
import { linkIdentity } from './identities/link-identity.ts'
import { loginWithIdentity } from './identities/login-with-identity.ts'
import { FLOW_COOKIE, type Oauth } from './oauth.ts'
import { redeemCode } from './flows/redeem-code.ts'
import { generateFlowCookie, startFlow } from './flows/start-flow.ts'
import { listLinkedProviders } from './store.ts'
import { unlinkIdentity } from './identities/unlink-identity.ts'
import {
  CodeBody,
  ForwardQuery,
  LinkBody,
  LinkUrlReply,
  LinkedReply,
  LoginUrlReply,
  OauthErrorReply,
  ProviderParams,
  ProvidersReply,
} from './wire.ts'

const tag = 'OAuth'
const LINK_PATH = '/self/oauth/:provider'
const LOGIN_PATH = '/login/oauth/:provider'
const params = ProviderParams.properties
/** The replies if the provider refuses or can't be reached. */
const errors = { 400: OauthErrorReply, 503: OauthErrorReply }

/** Linking and unlinking accounts of OAuth providers. Source: spec, "OAuth", 1 to 5. */
export function oauthLinkOperations(oauth: Oauth, guard: LoginGuard): Operation[] {
  return [
    operation({
      id: 'getOauth2UrlForLinking',
      summary: 'Get the address at which to link an account of an OAuth provider',
      method: 'GET',
      tag,
      at: linking(LINK_PATH),
      params,
      query: ForwardQuery,
      reply: LinkUrlReply,
      errors: { 503: OauthErrorReply },
      run: async (ctx, { scope: caller, params, query, request }) => {
        const flow = { purpose: 'link', bound: bindingOfCaller(caller.principal), script: isScript(request) } as const
        const { authorizationUrl } = await startFlow(ctx, oauth, { ...params, ...query, ...flow })
        const linked = (await listLinkedProviders(ctx.db, caller)).includes(params.provider)
        return { linked, authorization_url: authorizationUrl }
      },
    }),
    operation({
      id: 'linkOauth2Account',
      summary: 'Link an account of an OAuth provider',
      method: 'POST',
      tag,
      at: linking(LINK_PATH),
      params,
      body: LinkBody,
      reply: LinkedReply,
      errors,
      run: async (ctx, { scope: caller, params, body, request }) => {
        // Check before the code is used up, so that it can be sent again with the password.
        await proveRecently(ctx, guard, { caller, password: body.password })
        const flow = { purpose: 'link', bound: bindingOfCaller(caller.principal), script: isScript(request) } as const
        const identity = await redeemCode(ctx, oauth, { ...params, code: body.code, ...flow })
        await linkIdentity(ctx, { caller, ...params, identity })
        return { action: 'oauth account linked', id: identity.subject }
      },
    }),
    // The specification and the published interface name different paths.
    unlinkOperation({ id: 'unlinkSelfOauth2Provider', summary: 'Unlink an OAuth provider', path: LINK_PATH }, oauth),
    unlinkOperation(
      { id: 'unlinkOauth2Provider', summary: 'Unlink an OAuth provider by the path for signing in', path: LOGIN_PATH },
      oauth,
    ),
  ].flat()
}

interface Unlinking {
  readonly id: string
  readonly summary: string
  readonly path: string
}

function unlinkOperation({ id, summary, path }: Unlinking, { settings }: Oauth): Operation[] {
  return operation({
    id,
    summary,
    method: 'DELETE',
    tag,
    at: person(path),
    params,
    reply: Empty,
    run: async (ctx, { scope: caller, params }) => {
      const configured = settings.oauthProviders.map(({ name }) => name)
      await unlinkIdentity(ctx, { caller, ...params, configured })
    },
  })
}

/** Signing in by OAuth providers. Source: spec, "OAuth", 1 to 5. */
export function oauthLoginOperations({ clock }: Context, oauth: Oauth, { throttle }: LoginGuard): Operation[] {
  // Each login that begins takes a row, and its caller is unknown.
  const starts = createLoginThrottle(clock)
  return [
    operation({
      id: 'listLoginOauthProviders',
      summary: 'List the OAuth providers that people can sign in by',
      method: 'GET',
      tag,
      at: nobody('/login/oauth'),
      reply: ProvidersReply,
      run: () => ({ providers: oauth.settings.oauthProviders.map(({ name }) => name) }),
    }),
    operation({
      id: 'getOauth2AuthorizationUrlForLogin',
      summary: 'Get the address at which to sign in by an OAuth provider',
      method: 'GET',
      tag,
      at: nobody(LOGIN_PATH),
      params,
      query: ForwardQuery,
      reply: LoginUrlReply,
      errors: { 503: OauthErrorReply },
      run: async (ctx, { params, query, request, reply }) => {
        starts.takeFrom(request.ip)
        const value = generateFlowCookie()
        const flow = { purpose: 'login', bound: bindingOfCookie(value), script: isScript(request) } as const
        const { authorizationUrl, clientId } = await startFlow(ctx, oauth, { ...params, ...query, ...flow })
        void reply.setCookie(FLOW_COOKIE, value, { ...flowCookie(ctx), maxAge: FLOW_MS / 1000 })
        return { client_id: clientId, authorization_url: authorizationUrl }
      },
    }),
    operation({
      id: 'loginOauth2',
      summary: 'Sign in with the code of an OAuth provider',
      method: 'POST',
      tag,
      at: nobody(LOGIN_PATH),
      params,
      body: CodeBody,
      reply: LoginReply,
      errors,
      run: async (ctx, { params, body, request, reply }) => {
        throttle.takeFrom(request.ip)
        const value = request.cookies[FLOW_COOKIE]
        const bound = value === undefined ? null : bindingOfCookie(value)
        const flow = { purpose: 'login', bound, script: isScript(request) } as const
        const identity = await redeemCode(ctx, oauth, { ...params, code: body.code, ...flow })
        const loggedIn = await loginWithIdentity(ctx, { ...params, identity, from: requesterOf(request) })
        throttle.giveBackTo(request.ip)
        starts.giveBackTo(request.ip)
        setSessionCookies(ctx, reply, loggedIn.opened)
        void reply.clearCookie(FLOW_COOKIE, flowCookie(ctx))
        return presentLogin(loggedIn)
      },
    }),
  ].flat()
}

function flowCookie(ctx: Context) {
  return { ...cookieOptions(ctx), httpOnly: true }
}

/** True for programs: every browser sends one of these headers, and no page can remove them. */
function isScript({ headers }: FastifyRequest): boolean {
  return headers.origin === undefined && !Object.keys(headers).some((name) => name.startsWith('sec-fetch-'))
}

/** The place of operations for people who may link identities to their account. */
function linking(path: string): At<Person> {
  return at({ audience: 'person', needs: null, path, params: {} }, (_ctx, caller) => requireLinker(caller))
}

/** @throws AppError forbidden for accounts of an identity provider: a link would outlast the provider's decisions. */
function requireLinker(caller: Caller): Person {
  if (caller.principal.ssoId !== null) throw new AppError('forbidden', 'SSO accounts sign in only through their SSO')
  return requirePerson(caller)
}
