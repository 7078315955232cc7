-- An organization has one invitation per address: inviting it again renews that one. Former releases added another one each time.
-- The one that was sent last remains, because it has what the inviter wanted last. A change also sends an invitation again.
delete from invite using (
  select org_id, id, row_number() over (
    partition by org_id, email
    order by expires_at - (doc ->> 'hours')::float8 * interval '1 hour' desc nulls last, id desc
  ) as place from invite
) as sent
where invite.org_id = sent.org_id and invite.id = sent.id and sent.place > 1;

create unique index invite_of_address on invite (org_id, email);
