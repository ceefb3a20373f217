//! A row with the message's id, in the transaction of the effect.

use std::future::Future;

use punctual_broker_api::MessageId;

use super::Guarded;

/// A table of the messages that were handled, as your pool reaches it:
///
/// ```sql
/// CREATE TABLE handled (message_id text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
/// ```
///
/// Over sqlx:
///
/// ```text
/// struct Handled(sqlx::PgPool);
///
/// impl RowInserter for Handled {
///     type Transaction = sqlx::Transaction<'static, sqlx::Postgres>;
///     type Error = sqlx::Error;
///
///     async fn begin(&self) -> Result<Self::Transaction, sqlx::Error> {
///         self.0.begin().await
///     }
///
///     async fn insert(&self, tx: &mut Self::Transaction, id: &MessageId) -> Result<bool, sqlx::Error> {
///         let insert = "INSERT INTO handled (message_id) VALUES ($1) ON CONFLICT DO NOTHING";
///         let done = sqlx::query(insert).bind(id.as_str()).execute(&mut **tx).await?;
///         Ok(done.rows_affected() == 1)
///     }
///
///     async fn commit(&self, tx: Self::Transaction) -> Result<(), sqlx::Error> {
///         tx.commit().await
///     }
///
///     async fn rollback(&self, tx: Self::Transaction) -> Result<(), sqlx::Error> {
///         tx.rollback().await
///     }
/// }
/// ```
///
/// Over tokio-postgres, whose transactions borrow their client, take a pooled client (deadpool's
/// `Object`) for the transaction and say the four words yourself:
///
/// ```text
///     type Transaction = deadpool_postgres::Object;
///
///     begin:    let client = self.0.get().await?; client.batch_execute("BEGIN").await?; Ok(client)
///     insert:   Ok(tx.execute("INSERT INTO handled (message_id) VALUES ($1) ON CONFLICT DO NOTHING", &[&id.as_str()]).await? == 1)
///     commit:   tx.batch_execute("COMMIT").await
///     rollback: tx.batch_execute("ROLLBACK").await
/// ```
///
/// Let the pool's recycling roll back (`RecyclingMethod::Clean`), because a handler that is broken
/// off drops its transaction without a word.
///
/// Rows may be deleted when no delivery of their message can come any more: after the retries and
/// whatever redrive you allow.
pub trait RowInserter: Send + Sync {
    /// An open transaction. Dropping it must undo it.
    type Transaction: Send;
    /// Why the database did not do as it was told.
    type Error: Send;

    /// Opens a transaction.
    fn begin(&self) -> impl Future<Output = Result<Self::Transaction, Self::Error>> + Send;

    /// Inserts the row of a message: true when it was not there. When another transaction has
    /// inserted it and not yet ended this waits for it, as every SQL database does for a unique
    /// index; that is what keeps two consumers from doing the same work.
    fn insert(
        &self,
        transaction: &mut Self::Transaction,
        id: &MessageId,
    ) -> impl Future<Output = Result<bool, Self::Error>> + Send;

    /// Makes the transaction's effects real.
    fn commit(&self, transaction: Self::Transaction) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Undoes them.
    fn rollback(&self, transaction: Self::Transaction) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Lets an effect in a database be had once per message.
///
/// The row is inserted first and committed with the effect, so that either both are there or
/// neither, whenever the process dies. What the effect does outside its transaction is not
/// guarded.
///
/// ```text
/// let guard = Idempotency::unique_row(Handled(pool));
/// worker.run(move |order: Leased| {
///     let guard = guard.clone();
///     async move {
///         guard.once(&order.id, async |tx| close_order(tx, &order.body).await).await?;
///         Ok::<_, sqlx::Error>(())
///     }
/// })
/// ```
#[derive(Clone, Debug)]
pub struct RowGuard<R> {
    rows: R,
}

impl<R> RowGuard<R> {
    pub(super) fn new(rows: R) -> Self {
        Self { rows }
    }
}

impl<R: RowInserter> RowGuard<R> {
    /// Has the effect, unless it was had for this message before.
    ///
    /// # Errors
    /// The database's or the effect's own; then nothing was had and the message may be tried again.
    /// After an error of the commit that is not known: the next delivery finds out.
    pub async fn once<T, E>(
        &self,
        id: &MessageId,
        effect: impl AsyncFnOnce(&mut R::Transaction) -> Result<T, E>,
    ) -> Result<Guarded<T>, E>
    where
        E: From<R::Error>,
    {
        let mut transaction = self.rows.begin().await?;
        let done = match self.rows.insert(&mut transaction, id).await {
            Ok(true) => effect(&mut transaction).await.map(Guarded::Done),
            Ok(false) => Ok(Guarded::Skipped),
            Err(error) => Err(error.into()),
        };
        match &done {
            Ok(Guarded::Done(_)) => self.rows.commit(transaction).await?,
            // Why the effect failed is worth more than why it could not be undone; dropping undoes too.
            Ok(Guarded::Skipped) | Err(_) => drop(self.rows.rollback(transaction).await),
        }
        done
    }
}
