import { NativeSelect, useMantineColorScheme } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Link, Outlet, getRouteApi, useNavigate, useRouterState } from '@tanstack/react-router'
import { type MouseEvent, useEffect, useRef } from 'react'
import { useSelf } from '../accounts/self.ts'
import { answerOf, useServer } from '../api/client.ts'
import { QuietButton } from '../display/forms/button.tsx'
import { useMayLeave, useUnsaved } from '../display/forms/leave-guard.tsx'
import { focusContentIfLost, keepFocusIn } from '../display/forms/focus.ts'
import { EmptyState, ProblemNote } from '../display/layout/notices.tsx'
import { PageTitle } from '../display/layout/page-title.tsx'
import { useIsHidden, useOrgPages } from './org-pages.ts'
import { Palette } from './palette.tsx'
import logo from './signalbox.svg'

const route = getRouteApi('/signed-in/orgs/$orgId')

/** The frame of every page of an organization. */
export function Shell() {
  const { orgId } = route.useParams()
  const self = useSelf()
  const isStranger = self !== undefined && self.privileges.every(({ org_id: id }) => id !== orgId)
  useFocusOfPages()
  const content = useRef<HTMLElement>(null)
  useEffect(() => (content.current === null ? undefined : keepFocusIn(content.current)), [])
  // The browser would add an entry to the history, of which the router knows nothing.
  const skip = (event: MouseEvent): void => {
    event.preventDefault()
    content.current?.focus()
  }
  return (
    <div className="shell">
      <a className="skip" href="#content" onClick={skip}>
        Skip to the content
      </a>
      <header className="rail">
        <Link to="/orgs/$orgId" params={{ orgId }} className="brand">
          <img src={logo} alt="" width="22" height="22" /> Signalbox
        </Link>
        <OrgChoice orgId={orgId} />
        <Palette orgId={orgId} />
        <nav aria-label="Pages">
          {useOrgPages(orgId).map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              params={{ orgId }}
              // The overview is above all others.
              activeOptions={{ exact: to === '/orgs/$orgId', includeSearch: false }}
            >
              {label}
            </Link>
          ))}
        </nav>
        <Account />
      </header>
      <main ref={content} id="content" tabIndex={-1}>
        <Content orgId={orgId} isStranger={isStranger} />
      </main>
    </div>
  )
}

function Content({ orgId, isStranger }: { readonly orgId: string; readonly isStranger: boolean }) {
  const path = useRouterState({ select: ({ location }) => location.pathname })
  const isHidden = useIsHidden(orgId, path)
  if (isStranger) return <NoAccess />
  return isHidden ? <NoOrgRole /> : <Outlet />
}

/** For example a person with a role in single sites, who follows a link that an admin has sent. */
function NoOrgRole() {
  return (
    <>
      <PageTitle title="No access" />
      <EmptyState title="Only roles in the whole organization show this page">
        An admin of the organization can give you one.
      </EmptyState>
    </>
  )
}

/** Moves the focus to the content of another page, unless the link to it is still there. */
function useFocusOfPages(): void {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const former = useRef(path)
  useEffect(() => {
    if (former.current !== undefined && former.current !== path) focusContentIfLost()
    former.current = path
  }, [path])
}

/** For example a person who was removed, and comes back by a bookmark. */
function NoAccess() {
  return (
    <>
      <PageTitle title="No access" />
      <EmptyState title="You have no access to this organization, or it does not exist">
        An admin of the organization can invite you.
      </EmptyState>
      <Link to="/" className="link-button">
        Your organizations
      </Link>
    </>
  )
}

function OrgChoice({ orgId }: { readonly orgId: string }) {
  const self = useSelf()
  const navigate = useNavigate()
  const names = new Map(self?.privileges.map(({ org_id, org_name }) => [org_id, org_name]))
  if (names.size < 2) return <p className="org-name">{names.get(orgId) ?? ''}</p>
  return (
    <NativeSelect
      size="xs"
      aria-label="Organization"
      value={orgId}
      data={[...names].map(([value, label]) => ({ value, label }))}
      onChange={({ currentTarget: { value } }) => void navigate({ to: '/orgs/$orgId', params: { orgId: value } })}
    />
  )
}

function Account() {
  const { api } = useServer()
  const self = useSelf()
  const mayLeave = useMayLeave()
  const unsaved = useUnsaved()
  const signOut = useMutation({
    mutationFn: () => answerOf(api.POST('/api/v1/logout')),
    // The identity provider ends its own session. With the page goes everything that it has read.
    onSuccess({ forward_url: forwardUrl }) {
      unsaved.release()
      globalThis.location.assign(forwardUrl ?? '/sign-in')
    },
  })
  const leave = async (): Promise<void> => {
    if (await mayLeave()) signOut.mutate()
  }
  return (
    <div className="account">
      <Link to="/account" className="account-email" title={self?.email}>
        {self?.email}
      </Link>
      <SchemeChoice />
      <QuietButton isBusy={signOut.isPending} onClick={() => void leave()}>
        Sign out
      </QuietButton>
      <ProblemNote problem={signOut.error} />
    </div>
  )
}

const schemes = ['auto', 'light', 'dark'] as const

function SchemeChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const next = schemes[(schemes.indexOf(colorScheme) + 1) % schemes.length] ?? 'auto'
  return (
    <button type="button" className="quiet" title={`Change to ${next}`} onClick={() => setColorScheme(next)}>
      Colors: {colorScheme}
    </button>
  )
}
