import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { type Caller, actorOf } from '../../access/authorize.ts'
import { type LoginThrottle, createLoginThrottle } from '../../access/login-throttle.ts'
import { requesterOf } from '../../http/requester.ts'
import { Empty } from '../../http/schemas.ts'
import type { Context } from '../../platform/context.ts'
import { AppError } from '../../platform/errors.ts'
import type { LoginGuard } from '../parts.ts'
import { requirePerson } from '../self/person.ts'
import { proveRecently } from '../self/prove-recently.ts'
import { cookieOptions, setSessionCookies } from '../sessions/cookies.ts'
import { LoginReply, presentLogin } from '../sessions/wire.ts'
import { bindingOfCaller, bindingOfCookie } from './binding.ts'
import { FLOW_MS } from './flow.ts'
import { type LinkRequest, linkIdentity } from './link-identity.ts'
import { loginWithIdentity } from './login-with-identity.ts'
import { FLOW_COOKIE, type Oauth } from './oauth.ts'
import { redeemCode } from './redeem-code.ts'
import { newFlowCookie, startFlow } from './start-flow.ts'
import { listLinkedProviders } from './store.ts'
import { unlinkIdentity } from './unlink-identity.ts'
import {
  CodeBody,
  ForwardQuery,
  LinkBody,
  LinkUrlReply,
  LinkedReply,
  LoginUrlReply,
  OauthErrorReply,
  ProviderParams,
} from './wire.ts'

const tags = ['OAuth']
const LINK_PATH = '/self/oauth/:provider'
const LOGIN_PATH = '/login/oauth/:provider'

/** Linking, unlinking and signing in by OAuth providers. Source: spec, "OAuth", 1 to 5. */
export function oauthRoutes(ctx: Context, oauth: Oauth, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    await http.register(linkRoutes(ctx, oauth, guard))
    // Each login that is begun is kept for a while, and nobody is known yet.
    const begun = createLoginThrottle(ctx.clock)
    await http.register(loginUrlRoutes(ctx, oauth, begun))
    await http.register(loginRoutes(ctx, oauth, { ...guard, begun }))
    // The specification and the published interface name different paths.
    for (const [path, operationId] of [
      [LINK_PATH, 'unlinkSelfOauth2Provider'],
      [LOGIN_PATH, 'unlinkOauth2Provider'],
    ] as const)
      http.delete(
        path,
        { schema: { operationId, tags, params: ProviderParams, response: { 200: Empty } } },
        async ({ caller, params: { provider } }) => {
          const configured = oauth.settings.oauthProviders.map(({ name }) => name)
          await unlinkIdentity(ctx, {
            adminId: requirePerson(caller).principal.adminId,
            provider,
            configured,
            actor: actorOf(caller),
          })
          return {}
        },
      )
  }
}

function linkRoutes(ctx: Context, oauth: Oauth, guard: LoginGuard): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      LINK_PATH,
      {
        schema: {
          operationId: 'getOauth2UrlForLinking',
          tags,
          params: ProviderParams,
          querystring: ForwardQuery,
          response: { 200: LinkUrlReply },
        },
      },
      async (request, reply) => {
        const { caller, params, query } = request
        const { adminId } = linkerOf(caller)
        const bound = bindingOfCaller(caller.principal)
        const visit = { ...params, ...query, purpose: 'link', bound, script: isScript(request) } as const
        const { authorizationUrl } = await startFlow(ctx, oauth, visit)
        const linked = (await listLinkedProviders(ctx.db, adminId)).includes(params.provider)
        return reply.send({ linked, authorization_url: authorizationUrl })
      },
    )

    http.post(
      LINK_PATH,
      {
        schema: {
          operationId: 'linkOauth2Account',
          tags,
          params: ProviderParams,
          body: LinkBody,
          response: { 200: LinkedReply, 400: OauthErrorReply },
        },
      },
      async (request, reply) => {
        const { caller, params, body } = request
        const linker = linkerOf(caller)
        // Before the code is used up: it can be sent again with the password.
        await proveRecently(ctx, guard, { caller: requirePerson(caller), password: body.password })
        const bound = bindingOfCaller(caller.principal)
        const redemption = { ...params, code: body.code, purpose: 'link', bound, script: isScript(request) } as const
        const identity = await redeemCode(ctx, oauth, redemption)
        await linkIdentity(ctx, { linker, ...params, identity, actor: actorOf(caller) })
        return reply.send({ action: 'oauth account linked', id: identity.subject })
      },
    )
  }
}

function loginUrlRoutes(ctx: Context, oauth: Oauth, begun: LoginThrottle): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.get(
      LOGIN_PATH,
      {
        config: { public: true },
        schema: {
          operationId: 'getOauth2AuthorizationUrlForLogin',
          tags,
          security: [],
          params: ProviderParams,
          querystring: ForwardQuery,
          response: { 200: LoginUrlReply },
        },
      },
      async (request, reply) => {
        begun.takeFrom(request.ip)
        const value = newFlowCookie()
        const bound = bindingOfCookie(value)
        const visit = {
          ...request.params,
          ...request.query,
          purpose: 'login',
          bound,
          script: isScript(request),
        } as const
        const { authorizationUrl, clientId } = await startFlow(ctx, oauth, visit)
        void reply.setCookie(FLOW_COOKIE, value, { ...cookieOptions(ctx), httpOnly: true, maxAge: FLOW_MS / 1000 })
        return reply.send({ client_id: clientId, authorization_url: authorizationUrl })
      },
    )
  }
}

interface LoginBounds extends LoginGuard {
  readonly begun: LoginThrottle
}

function loginRoutes(ctx: Context, oauth: Oauth, { throttle, begun }: LoginBounds): FastifyPluginAsyncTypebox {
  return async (http) => {
    http.post(
      LOGIN_PATH,
      {
        config: { public: true },
        schema: {
          operationId: 'loginOauth2',
          tags,
          security: [],
          params: ProviderParams,
          body: CodeBody,
          response: { 200: LoginReply, 400: OauthErrorReply },
        },
      },
      async (request, reply) => {
        const { params, body, ip, cookies } = request
        throttle.takeFrom(ip)
        const value = cookies[FLOW_COOKIE]
        const bound = value === undefined ? null : bindingOfCookie(value)
        const redemption = { ...params, code: body.code, purpose: 'login', bound, script: isScript(request) } as const
        const identity = await redeemCode(ctx, oauth, redemption)
        const from = requesterOf(request)
        const loggedIn = await loginWithIdentity(ctx, { ...params, identity, from })
        throttle.giveBackTo(ip)
        begun.giveBackTo(ip)
        setSessionCookies(ctx, reply, loggedIn.opened)
        void reply.clearCookie(FLOW_COOKIE, { ...cookieOptions(ctx), httpOnly: true })
        return reply.send(presentLogin(loggedIn))
      },
    )
  }
}

/** Every browser of today sends one of these, and no page can take them off. */
function isScript({ headers }: FastifyRequest): boolean {
  return headers.origin === undefined && !Object.keys(headers).some((name) => name.startsWith('sec-fetch-'))
}

/** @throws AppError forbidden for those who come from an identity provider: a link would outlive what it decides. */
function linkerOf(caller: Caller): LinkRequest['linker'] {
  if (caller.principal.ssoId !== null) throw new AppError('forbidden', 'SSO accounts sign in by their SSO only.')
  return requirePerson(caller).principal
}
