/** What to do if a mail does not come: new servers often have no mail server yet. */
export const noMailText =
  'If none comes, ask the operator: a server without a mail server keeps mails in the folder "mail" of its data.'
