import { Type } from 'typebox'
import { type Operation, operation } from '../../http/operation.ts'
import { Empty } from '../../http/schemas.ts'
import { person } from '../self/person.ts'
import { endOtherSessions, endSession } from './end-sessions.ts'
import { listOpenSessions } from './store-open.ts'
import { SessionId, SessionReply, SessionsEndedReply, presentSession } from './wire-sessions.ts'

const tag = 'Accounts'

/** The login sessions of the caller's account. Ours: the contract has no operations for them. */
export const selfSessionOperations: Operation[] = [
  operation({
    id: 'listSelfSessions',
    summary: 'List the login sessions of the caller',
    method: 'GET',
    tag,
    at: person('/self/sessions'),
    reply: Type.Array(SessionReply),
    run: async (ctx, { scope: caller }) => {
      const sessions = await listOpenSessions(ctx.db, caller, ctx.clock.now())
      return sessions.map((session) => presentSession(session, caller.principal.sessionHash))
    },
  }),
  operation({
    id: 'endOtherSelfSessions',
    summary: 'End all login sessions of the caller but the one that asks',
    method: 'DELETE',
    tag,
    at: person('/self/sessions'),
    reply: SessionsEndedReply,
    run: async (ctx, { scope: caller }) => ({ ended: await endOtherSessions(ctx, caller) }),
  }),
  operation({
    id: 'endSelfSession',
    summary: 'End a login session of the caller',
    method: 'DELETE',
    tag,
    at: person('/self/sessions/:session_id'),
    params: { session_id: SessionId },
    reply: Empty,
    run: (ctx, { scope: caller, params: { session_id: id } }) => endSession(ctx, caller, id),
  }),
].flat()
