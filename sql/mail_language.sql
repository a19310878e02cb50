-- The language of a mail that is requested now: of the user whom it is about, or who has its address, or who has it
-- sent to somebody without an account.
CREATE OR REPLACE FUNCTION mail_language(about uuid, recipient text, sender uuid) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT coalesce(
    (SELECT language FROM users WHERE id = about),
    (SELECT language FROM users WHERE email = recipient),
    (SELECT language FROM users WHERE id = sender),
    'en')
$$;
